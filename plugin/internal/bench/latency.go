package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

func latencyRows() []row {
	return []row{
		{"Execute(\"true\"), end to end, mutual TLS", "os/exec, bash -c true, two pipes", "≤ 1.2 ×", trueLatency},
		{
			"the same, confined: files and network; Private too; files, network, memory; Disk alone",
			"Execute(\"true\")", "+ ≤ 0.15 ms", confinedLatency,
		},
		{
			"polling 50 jobs with a limit of memory; of two processes each",
			"the same without limits", "≤ 1 % of a processor", pollingCost,
		},
		{"64 callers of \"true\", commands a second", "os/exec", "≥ 0.9 ×", trueThroughput},
		{"sleep 60 & echo hi", "echo hi", "+ ≤ 3 ms", leftover},
		{"a 50 KiB result", "an empty one", "+ ≤ 0.3 ms", largeResult},
	}
}

// execute runs a command that must succeed.
func (b *bench) execute(command string) error {
	r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: command})
	if err == nil && r.Status != shared.StatusCompleted {
		err = fmt.Errorf("%s: %s", command, r.Status)
	}
	return err
}

// commandOf runs a command that must succeed.
func (b *bench) commandOf(command string) subject {
	return subject{run: func() error { return b.execute(command) }}
}

// executeOf is a call of Execute.
func (b *bench) executeOf(client *host.Client, req shared.ExecuteRequest) subject {
	return subject{run: func() error {
		_, err := client.Execute(b.ctx, req)
		return err
	}}
}

// checkOf is a call of Check.
func (b *bench) checkOf(client *host.Client, req shared.CheckRequest) subject {
	return subject{run: func() error {
		_, err := client.Check(b.ctx, req)
		return err
	}}
}

func trueLatency(b *bench) (outcome, error) {
	withoutPlugin := subject{run: func() error { return osExec("true") }}
	times, err := compare(b.rounds(2000), b.commandOf("true"), withoutPlugin)
	if err != nil {
		return outcome{}, err
	}
	return times.slowerAtMost(1.2), nil
}

func confinedLatency(b *bench) (outcome, error) {
	confined := func(c shared.Confine, r shared.Resources) subject {
		return b.executeOf(b.client, shared.ExecuteRequest{Command: "true", Confine: &c, Resources: r})
	}
	files := shared.Confine{ReadOnly: true, Writable: []string{b.dir}, NoNetwork: true}
	private := shared.Confine{ReadOnly: true, Writable: []string{b.dir}, NoNetwork: true, Private: true}
	medians, err := alternate(b.rounds(1000),
		b.commandOf("true"),
		confined(files, shared.Resources{}),
		confined(private, shared.Resources{}),
		confined(files, shared.Resources{Memory: 2 << 30}),
		confined(shared.Confine{}, shared.Resources{Disk: 1 << 30}))
	if err != nil {
		return outcome{}, err
	}
	plain := medians[0]
	text := fmt.Sprintf("+ %s, + %s, + %s, + %s (of %s)",
		ms(medians[1]-plain), ms(medians[2]-plain), ms(medians[3]-plain), ms(medians[4]-plain), ms(plain))
	return outcome{measured: text, met: medians[1]-plain <= 150*time.Microsecond}, nil
}

// pollingCost compares the processor time that the plugin takes while jobs with and
// without limits run.
func pollingCost(b *bench) (outcome, error) {
	one, err := b.costOfLimits("sleep 1000")
	if err != nil {
		return outcome{}, err
	}
	two, err := b.costOfLimits("sleep 1000 | sleep 1000")
	if err != nil {
		return outcome{}, err
	}
	return outcome{measured: fmt.Sprintf("%.2f %%; %.2f %%", one, two), met: one <= 1}, nil
}

// costOfLimits returns how much more processor time the plugin takes, in percent of one processor,
// if 50 jobs have a limit of memory.
func (b *bench) costOfLimits(command string) (float64, error) {
	without, err := b.costOfJobs(command, shared.Resources{})
	if err != nil {
		return 0, err
	}
	with, err := b.costOfJobs(command, shared.Resources{Memory: 1 << 30})
	return with - without, err
}

// costOfJobs returns how much processor time the plugin takes, in percent of one processor, while
// 50 jobs run.
func (b *bench) costOfJobs(command string, limits shared.Resources) (float64, error) {
	req := shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground, Resources: limits}
	for range 50 {
		_, err := b.client.Execute(b.ctx, req)
		if err != nil {
			return 0, err
		}
	}
	defer b.client.Kill(b.ctx, shared.KillRequest{PID: shared.AllJobs}) //nolint:errcheck // the next row would fail
	time.Sleep(time.Second)
	before := processorTime(b.client.PluginPID())
	begin := time.Now()
	time.Sleep(time.Duration(20*b.scale) * time.Second)
	taken := processorTime(b.client.PluginPID()) - before
	return float64(taken) / float64(time.Since(begin)) * 100, nil
}

func trueThroughput(b *bench) (outcome, error) {
	const callers = 64
	each := b.rounds(40)
	crowd := func(run func() error) subject {
		return subject{run: func() error { return atOnce(callers, func() error { return repeat(each, run) }) }}
	}
	throughPlugin := crowd(func() error { return b.execute("true") })
	withoutPlugin := crowd(func() error { return osExec("true") })
	times, err := compare(5, throughPlugin, withoutPlugin)
	if err != nil {
		return outcome{}, err
	}
	rate := func(d time.Duration) float64 { return float64(callers*each) / d.Seconds() }
	text := fmt.Sprintf("%.2f × (%.0f/s, %.0f/s)", times.speed(), rate(times.plugin), rate(times.other))
	return outcome{measured: text, met: times.speed() >= 0.9}, nil
}

// atOnce calls run n times at the same time.
func atOnce(n int, run func() error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = run() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// repeat calls run n times, or until it fails.
func repeat(n int, run func() error) error {
	for range n {
		err := run()
		if err != nil {
			return err
		}
	}
	return nil
}

func leftover(b *bench) (outcome, error) {
	pid := 0
	background := subject{
		run: func() error {
			r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "sleep 60 & echo hi"})
			if err == nil {
				pid = r.PID
			}
			return err
		},
		cleanUp: func() error {
			_, err := b.client.Kill(b.ctx, shared.KillRequest{PID: pid})
			return err
		},
	}
	times, err := compare(b.rounds(100), background, b.commandOf("echo hi"))
	if err != nil {
		return outcome{}, err
	}
	more := times.plugin - times.other
	return outcome{measured: "+ " + ms(more), met: more <= 3*time.Millisecond}, nil
}

func largeResult(b *bench) (outcome, error) {
	full, err := b.finishedJob("head -c 51200 /dev/zero | tr '\\0' x")
	if err != nil {
		return outcome{}, err
	}
	empty, err := b.finishedJob("true")
	if err != nil {
		return outcome{}, err
	}
	times, err := compare(b.rounds(2000),
		b.checkOf(b.client, shared.CheckRequest{PID: full, All: true}),
		b.checkOf(b.client, shared.CheckRequest{PID: empty, All: true}))
	if err != nil {
		return outcome{}, err
	}
	more := times.plugin - times.other
	text := fmt.Sprintf("+ %s (%s, %s)", ms(more), ms(times.plugin), ms(times.other))
	return outcome{measured: text, met: more <= 300*time.Microsecond}, nil
}

// finishedJob runs a command as a background job and waits for its end.
func (b *bench) finishedJob(command string) (int, error) {
	r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground})
	if err != nil {
		return 0, err
	}
	_, err = b.client.Check(b.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Hour})
	return r.PID, err
}

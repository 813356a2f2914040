package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bashplugin/shared"
)

func (b *bench) execute(command string) error {
	r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: command})
	if err == nil && r.Status != shared.StatusCompleted {
		err = fmt.Errorf("%s: %s", command, r.Status)
	}
	return err
}

func (b *bench) rounds(n int) int { return max(5, int(float64(n)*b.scale)) }

func trueLatency(b *bench) (string, bool, error) {
	m, err := alternate(b.rounds(2000),
		func() error { return b.execute("true") },
		func() error { return osExec("true") })
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[0]) / float64(m[1])
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, ms(m[0]), ms(m[1])), ratio <= 1.25, nil
}

func confinedLatency(b *bench) (string, bool, error) {
	confined := func(c shared.Confine, r shared.Resources) func() error {
		return func() error {
			_, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "true", Confine: &c, Resources: r})
			return err
		}
	}
	files := shared.Confine{ReadOnly: true, Writable: []string{b.dir}, NoNetwork: true}
	private := shared.Confine{ReadOnly: true, Writable: []string{b.dir}, NoNetwork: true, Private: true}
	m, err := alternate(b.rounds(1000),
		confined(files, shared.Resources{}),
		confined(private, shared.Resources{}),
		confined(files, shared.Resources{Memory: 2 << 30}),
		confined(shared.Confine{}, shared.Resources{Disk: 1 << 30}),
		func() error { return b.execute("true") })
	if err != nil {
		return "", false, err
	}
	plain := m[4]
	text := fmt.Sprintf("+ %s, + %s, + %s, + %s (of %s)", ms(m[0]-plain), ms(m[1]-plain), ms(m[2]-plain), ms(m[3]-plain), ms(plain))
	return text, m[0]-plain <= 150*time.Microsecond, nil
}

// pollingCost compares the processor time that the plugin takes while jobs with and
// without limits run.
func pollingCost(b *bench) (string, bool, error) {
	share := func(command string, r shared.Resources) (float64, error) {
		for range 50 {
			if _, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground, Resources: r}); err != nil {
				return 0, err
			}
		}
		defer b.client.Kill(b.ctx, shared.KillRequest{PID: shared.AllJobs}) //nolint:errcheck // the next row would fail
		time.Sleep(time.Second)
		before, begin := processorTime(b.client.PluginPID()), time.Now()
		time.Sleep(time.Duration(20*b.scale) * time.Second)
		return float64(processorTime(b.client.PluginPID())-before) / float64(time.Since(begin)) * 100, nil
	}
	var all [4]float64
	for i, command := range []string{"sleep 1000", "sleep 1000", "sleep 1000 | sleep 1000", "sleep 1000 | sleep 1000"} {
		var err error
		if all[i], err = share(command, shared.Resources{Memory: int64(i%2) << 30}); err != nil {
			return "", false, err
		}
	}
	return fmt.Sprintf("%.2f %%; %.2f %%", all[1]-all[0], all[3]-all[2]), all[1]-all[0] <= 1, nil
}

func trueThroughput(b *bench) (string, bool, error) {
	const callers = 64
	each := b.rounds(40)
	crowd := func(f func() error) func() error {
		return func() error {
			var wg sync.WaitGroup
			errs := make(chan error, callers)
			for range callers {
				wg.Go(func() {
					for range each {
						if err := f(); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			return <-errs
		}
	}
	m, err := alternate(5,
		crowd(func() error { return b.execute("true") }),
		crowd(func() error { return osExec("true") }))
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[1]) / float64(m[0])
	rate := func(d time.Duration) float64 { return float64(callers*each) / d.Seconds() }
	return fmt.Sprintf("%.2f × (%.0f/s, %.0f/s)", ratio, rate(m[0]), rate(m[1])), ratio >= 0.85, nil
}

func leftover(b *bench) (string, bool, error) {
	var jobs []int
	m, err := alternate(b.rounds(100),
		func() error {
			r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "sleep 60 & echo hi"})
			if err == nil {
				jobs = append(jobs, r.PID)
			}
			return err
		},
		func() error {
			for _, pid := range jobs { // this row is not used: it cleans up before the next run
				if _, err := b.client.Kill(b.ctx, shared.KillRequest{PID: pid}); err != nil {
					return err
				}
			}
			jobs = nil
			return nil
		},
		func() error { return b.execute("echo hi") })
	if err != nil {
		return "", false, err
	}
	return "+ " + ms(m[0]-m[2]), m[0]-m[2] <= 3*time.Millisecond, nil
}

func largeResult(b *bench) (string, bool, error) {
	full, err := b.finishedJob("head -c 51200 /dev/zero | tr '\\0' x")
	if err != nil {
		return "", false, err
	}
	empty, err := b.finishedJob("true")
	if err != nil {
		return "", false, err
	}
	check := func(pid int) func() error {
		return func() error {
			_, err := b.client.Check(b.ctx, shared.CheckRequest{PID: pid, All: true})
			return err
		}
	}
	m, err := alternate(b.rounds(2000), check(full), check(empty))
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("+ %s (%s, %s)", ms(m[0]-m[1]), ms(m[0]), ms(m[1])), m[0]-m[1] <= 300*time.Microsecond, nil
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

func checkLargeLog(b *bench) (string, bool, error) {
	if err := b.text(int64(float64(1<<30) * b.scale)); err != nil {
		return "", false, err
	}
	large, err := b.finishedJob("cat text")
	if err != nil {
		return "", false, err
	}
	defer b.client.Kill(b.ctx, shared.KillRequest{PID: large}) //nolint:errcheck // it only frees the disk
	small, err := b.finishedJob("head -c 1024 text")
	if err != nil {
		return "", false, err
	}
	check := func(pid int) func() error {
		return func() error {
			_, err := b.client.Check(b.ctx, shared.CheckRequest{PID: pid})
			return err
		}
	}
	m, err := alternate(b.rounds(2000), check(large), check(small))
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[0]) / float64(m[1])
	return fmt.Sprintf("%.2f × (%s, %s)", ratio, ms(m[0]), ms(m[1])), ratio <= 1.5, nil
}

// checkBeside compares the slowest calls of Check while commands run, again and again,
// with those of a quiet plugin.
func checkBeside(commands ...shared.ExecuteRequest) func(*bench) (string, bool, error) {
	return func(b *bench) (string, bool, error) {
		job, err := b.finishedJob("echo hi")
		if err != nil {
			return "", false, err
		}
		sample := func() (time.Duration, error) {
			var times []time.Duration
			for begin := time.Now(); len(times) < b.rounds(1000) || time.Since(begin) < time.Duration(float64(2*time.Second)*b.scale); {
				start := time.Now()
				if _, err := b.client.Check(b.ctx, shared.CheckRequest{PID: job}); err != nil {
					return 0, err
				}
				times = append(times, time.Since(start))
			}
			return p99(times), nil
		}
		calm, err := sample()
		if err != nil {
			return "", false, err
		}
		ctx, cancel := context.WithCancel(b.ctx)
		var wg sync.WaitGroup
		for _, req := range commands {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = b.client.Execute(ctx, req)
				}
			})
		}
		loaded, err := sample()
		cancel()
		wg.Wait()
		ratio := float64(loaded) / float64(calm)
		return fmt.Sprintf("%.1f × (%s, %s)", ratio, ms(loaded), ms(calm)), ratio <= 5, err
	}
}

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"bashplugin/shared"
)

func checkRows() []row {
	flood := shared.ExecuteRequest{Command: "yes a line of a flood", Timeout: time.Hour}
	forkBomb := shared.ExecuteRequest{
		Command:   "b() { if (($1)); then b $(($1-1)) | b $(($1-1)) & wait; else sleep 60; fi; }; b 11",
		Resources: shared.Resources{Processes: 200},
	}
	return []row{
		{"Check on a job with a log of 1 GiB", "one of 1 KiB", "≤ 1.5 ×", checkLargeLog},
		{
			"Check p99 while 16 jobs flood",
			"unloaded", "≤ 5 ×", checkBeside(slices.Repeat([]shared.ExecuteRequest{flood}, 16)...),
		},
		{
			"Check p99 while fork bombs meet a limit of 200 processes",
			"unloaded", "≤ 5 ×", checkBeside(forkBomb),
		},
	}
}

func checkLargeLog(b *bench) (outcome, error) {
	err := b.text(b.bytes(1 << 30))
	if err != nil {
		return outcome{}, err
	}
	large, err := b.finishedJob("cat text")
	if err != nil {
		return outcome{}, err
	}
	defer b.client.Kill(b.ctx, shared.KillRequest{PID: large}) //nolint:errcheck // it only frees the disk
	small, err := b.finishedJob("head -c 1024 text")
	if err != nil {
		return outcome{}, err
	}
	times, err := compare(b.rounds(2000),
		b.checkOf(b.client, shared.CheckRequest{PID: large}),
		b.checkOf(b.client, shared.CheckRequest{PID: small}))
	if err != nil {
		return outcome{}, err
	}
	return times.slowerAtMost(1.5), nil
}

// checkBeside compares the slowest calls of Check while commands run, again and again,
// with those of a quiet plugin.
func checkBeside(commands ...shared.ExecuteRequest) func(*bench) (outcome, error) {
	return func(b *bench) (outcome, error) {
		job, err := b.finishedJob("echo hi")
		if err != nil {
			return outcome{}, err
		}
		calm, err := b.slowestChecks(job)
		if err != nil {
			return outcome{}, err
		}
		ctx, cancel := context.WithCancel(b.ctx)
		var group sync.WaitGroup
		for _, req := range commands {
			group.Go(func() {
				for ctx.Err() == nil {
					_, _ = b.client.Execute(ctx, req)
				}
			})
		}
		loaded, err := b.slowestChecks(job)
		cancel()
		group.Wait()
		ratio := float64(loaded) / float64(calm)
		text := fmt.Sprintf("%.1f × (%s, %s)", ratio, ms(loaded), ms(calm))
		return outcome{measured: text, met: ratio <= 5}, err
	}
}

// slowestChecks returns the time within which 99 % of many calls of Check are answered.
func (b *bench) slowestChecks(job int) (time.Duration, error) {
	least := time.Duration(float64(2*time.Second) * b.scale)
	check := b.checkOf(b.client, shared.CheckRequest{PID: job})
	var times []time.Duration
	begin := time.Now()
	for len(times) < b.rounds(1000) || time.Since(begin) < least {
		taken, err := check.time()
		if err != nil {
			return 0, err
		}
		times = append(times, taken)
	}
	return p99(times), nil
}

package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"bashplugin/shared"
)

// growth prints how cost grows with the output of one command and with the
// number of concurrent jobs.
func (b *bench) growth() error {
	if err := b.growthOfOutput(); err != nil {
		return err
	}
	fmt.Println()
	return b.growthOfJobs()
}

func (b *bench) growthOfOutput() error {
	fmt.Println("| output | time | throughput | plugin memory |")
	fmt.Println("|---|---|---|---|")
	for _, size := range []int64{1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30, 8 << 30} {
		size = int64(float64(size) * b.scale)
		block := min(size, 1<<30)
		if err := b.text(block); err != nil {
			return err
		}
		repeat := size / max(block, 1)
		pid := b.client.PluginPID()
		if err := resetPeak(pid); err != nil {
			return err
		}
		var times []time.Duration
		for range 3 {
			start := time.Now()
			r, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: fmt.Sprintf("for ((i=0; i<%d; i++)); do cat text; done", repeat), Timeout: time.Hour})
			if err != nil {
				return err
			}
			times = append(times, time.Since(start))
			if r.Stdout.Path != "" {
				_ = os.Remove(r.Stdout.Path) // to free the disk
			}
		}
		peak, err := memory(pid, "VmHWM")
		if err != nil {
			return err
		}
		m := median(times)
		fmt.Printf("| %s | %s | %.1f MB/s | %s |\n", mib(size), ms(m), float64(size)/1e6/m.Seconds(), mib(peak))
	}
	return nil
}

func (b *bench) growthOfJobs() error {
	fmt.Println("| concurrent jobs | Check, median | commands a second beside them | plugin memory |")
	fmt.Println("|---|---|---|---|")
	for _, jobs := range []int{1, 10, 50, 100, 200} {
		if err := b.withJobs(jobs); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) withJobs(n int) error {
	c, err := b.launch()
	if err != nil {
		return err
	}
	defer c.Close()
	pids := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if r, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "seq 100000; sleep 1000", Mode: shared.ModeBackground}); err == nil {
				pids[i] = r.PID
				_, _ = c.Check(b.ctx, shared.CheckRequest{PID: r.PID, Wait: time.Minute, WaitFor: "100000\n"})
			}
		})
	}
	wg.Wait()
	i := 0
	m, err := alternate(300,
		func() error {
			i++
			_, err := c.Check(b.ctx, shared.CheckRequest{PID: pids[i%n]})
			return err
		},
		func() error {
			_, err := c.Execute(b.ctx, shared.ExecuteRequest{Command: "true"})
			return err
		})
	if err != nil {
		return err
	}
	rss, err := memory(c.PluginPID(), "VmRSS")
	fmt.Printf("| %d | %s | %.0f | %s |\n", n, ms(m[0]), 1/m[1].Seconds(), mib(rss))
	return err
}

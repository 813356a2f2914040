package main

import (
	"fmt"
	"time"

	"bashplugin/shared"
)

// growth prints how cost grows with the output of one command and with the
// number of concurrent jobs.
func (b *bench) growth() error {
	err := b.growthOfOutput()
	if err != nil {
		return err
	}
	fmt.Println()
	return b.growthOfJobs()
}

func (b *bench) growthOfOutput() error {
	fmt.Println("| output | time | throughput | plugin memory |")
	fmt.Println("|---|---|---|---|")
	for _, bytes := range []int64{1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30, 8 << 30} {
		err := b.withOutput(b.bytes(bytes))
		if err != nil {
			return err
		}
	}
	return nil
}

// withOutput measures a command that writes this many bytes.
func (b *bench) withOutput(bytes int64) error {
	block := min(bytes, 1<<30)
	err := b.text(block)
	if err != nil {
		return err
	}
	repeats := bytes / max(block, 1)
	command := fmt.Sprintf("for ((i=0; i<%d; i++)); do cat text; done", repeats)
	pid := b.client.PluginPID()
	err = resetPeak(pid)
	if err != nil {
		return err
	}
	execute := b.executeOf(b.client, shared.ExecuteRequest{Command: command, Timeout: time.Hour})
	execute.cleanUp = b.removeLogs
	times, err := alternate(3, execute)
	if err != nil {
		return err
	}
	peak, err := memory(pid, "VmHWM")
	if err != nil {
		return err
	}
	typical := times[0]
	rate := float64(bytes) / 1e6 / typical.Seconds()
	fmt.Printf("| %s | %s | %.1f MB/s | %s |\n", size(bytes), ms(typical), rate, size(peak))
	return nil
}

func (b *bench) growthOfJobs() error {
	fmt.Println("| concurrent jobs | Check, median | commands a second beside them | plugin memory |")
	fmt.Println("|---|---|---|---|")
	for _, jobs := range []int{1, 10, 50, 100, 200} {
		err := b.withJobs(jobs)
		if err != nil {
			return err
		}
	}
	return nil
}

// withJobs measures calls while n jobs run.
func (b *bench) withJobs(n int) error {
	client, err := b.launch()
	if err != nil {
		return err
	}
	defer client.Close()
	pids := make(chan int, n)
	err = atOnce(n, func() error {
		pid, problem := b.startJob(client, "seq 100000; sleep 1000", "100000\n")
		pids <- pid
		return problem
	})
	if err != nil {
		return err
	}
	check := subject{run: func() error {
		pid := <-pids // each job in turn
		pids <- pid
		return b.checkOf(client, shared.CheckRequest{PID: pid}).run()
	}}
	execute := b.executeOf(client, shared.ExecuteRequest{Command: "true"})
	times, err := compare(300, check, execute)
	if err != nil {
		return err
	}
	resident, err := memory(client.PluginPID(), "VmRSS")
	fmt.Printf("| %d | %s | %.0f | %s |\n", n, ms(times.plugin), 1/times.other.Seconds(), size(resident))
	return err
}

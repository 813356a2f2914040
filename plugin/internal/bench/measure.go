package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// median of durations; the slice is sorted.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// p99 of durations; the slice is sorted.
func p99(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)*99/100]
}

// alternate times the functions in turn, rounds times each, and returns their
// medians.
func alternate(rounds int, functions ...func() error) ([]time.Duration, error) {
	times := make([][]time.Duration, len(functions))
	for range rounds {
		for i, f := range functions {
			start := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	medians := make([]time.Duration, len(functions))
	for i := range times {
		medians[i] = median(times[i])
	}
	return medians, nil
}

// osExec runs a command as a host without the plugin would.
func osExec(command string) error {
	cmd := exec.Command("bash", "-c", command)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd.Run()
}

// memory returns a field of a process's status in bytes.
func memory(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of %d", field, pid)
}

// resetPeak makes VmHWM begin again.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// processorTime returns what a process has taken so far, summed over its threads.
func processorTime(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range threads {
		var taken time.Duration
		text, _ := os.ReadFile(path)
		_, _ = fmt.Sscan(string(text), &taken)
		sum += taken
	}
	return sum
}

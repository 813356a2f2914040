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

	"github.com/docker/go-units"
)

// subject is something that is timed.
type subject struct {
	run func() error

	// cleanUp is called after each run, and not timed. It may be nil.
	cleanUp func() error
}

// alternate times the subjects in turn, rounds times each, and returns their medians.
func alternate(rounds int, subjects ...subject) ([]time.Duration, error) {
	times := make([][]time.Duration, len(subjects))
	for range rounds {
		for i, s := range subjects {
			taken, err := s.time()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], taken)
		}
	}
	medians := make([]time.Duration, len(subjects))
	for i := range times {
		medians[i] = median(times[i])
	}
	return medians, nil
}

// time times one run.
func (s subject) time() (time.Duration, error) {
	start := time.Now()
	err := s.run()
	taken := time.Since(start)
	if err == nil && s.cleanUp != nil {
		err = s.cleanUp()
	}
	return taken, err
}

// comparison has the median times of the plugin and of the thing that it is compared with.
type comparison struct {
	plugin time.Duration
	other  time.Duration
}

// compare is alternate for two subjects.
func compare(rounds int, plugin, other subject) (comparison, error) {
	medians, err := alternate(rounds, plugin, other)
	if err != nil {
		return comparison{}, err
	}
	return comparison{plugin: medians[0], other: medians[1]}, nil
}

// slowness is how many times as long as the other thing the plugin takes.
func (c comparison) slowness() float64 { return float64(c.plugin) / float64(c.other) }

// speed is how many times as fast as the other thing the plugin is.
func (c comparison) speed() float64 { return float64(c.other) / float64(c.plugin) }

// slowerAtMost is the outcome of a claim about slowness.
func (c comparison) slowerAtMost(limit float64) outcome {
	text := fmt.Sprintf("%.2f × (%s, %s)", c.slowness(), ms(c.plugin), ms(c.other))
	return outcome{measured: text, met: c.slowness() <= limit}
}

// fasterAtLeast is the outcome of a claim about speed.
func (c comparison) fasterAtLeast(limit float64) outcome {
	text := fmt.Sprintf("%.2f × (%s, %s)", c.speed(), ms(c.plugin), ms(c.other))
	return outcome{measured: text, met: c.speed() >= limit}
}

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

// osExec runs a command as a host without the plugin would.
func osExec(command string) error {
	cmd := exec.Command("bash", "-c", command)
	cmd.Stdout = new(bytes.Buffer)
	cmd.Stderr = new(bytes.Buffer)
	return cmd.Run()
}

// memory returns a field of a process's status in bytes.
func memory(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, field+":")
		if ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of %d", field, pid)
}

// resetPeak resets VmHWM, the peak of a process's memory, to its present size.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

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

// size is a number of bytes for people.
func size(n int64) string {
	return units.CustomSize("%.1f %s", float64(n), 1024, []string{"bytes", "KiB", "MiB", "GiB"})
}

// ms is a duration for people.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

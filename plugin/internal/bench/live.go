package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// firstByte is a live writer that records the first chunk and its time.
type firstByte struct {
	text chan string
	when time.Time
}

func (w *firstByte) Write(p []byte) (int, error) {
	if w.when.IsZero() {
		w.when = time.Now()
		w.text <- string(p)
	}
	return len(p), nil
}

// liveLatency makes the command write the time, and compares that with the time of
// its arrival.
func liveLatency(b *bench) (string, bool, error) {
	var times []time.Duration
	for range b.rounds(100) {
		w := &firstByte{text: make(chan string, 1)}
		_, err := b.client.Execute(b.ctx, shared.ExecuteRequest{Command: "sleep 0.01; echo $EPOCHREALTIME; sleep 0.01", Stdout: w})
		if err != nil {
			return "", false, err
		}
		micros, err := strconv.ParseInt(strings.Replace(strings.TrimSpace(<-w.text), ".", "", 1), 10, 64)
		if err != nil {
			return "", false, err
		}
		times = append(times, w.when.Sub(time.UnixMicro(micros)))
	}
	m := median(times)
	return ms(m), m <= 20*time.Millisecond, nil
}

// discarded is a live writer that counts the bytes.
type discarded struct {
	bytes int64
}

func (w *discarded) Write(p []byte) (int, error) {
	w.bytes += int64(len(p))
	return len(p), nil
}

// liveCost compares a command with a live copy to one without.
func liveCost(command string, maxLogBytes int64, lossless bool, text func(*bench, int64) error) func(*bench) (string, bool, error) {
	return func(b *bench) (string, bool, error) {
		if err := text(b, int64(float64(1<<28)*b.scale)); err != nil {
			return "", false, err
		}
		client, err := b.launchWith(maxLogBytes)
		if err != nil {
			return "", false, err
		}
		defer client.Close()
		var copied, skipped int64
		live := func() error {
			w := new(discarded)
			r, err := client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Hour, Stdout: w, Lossless: lossless})
			if err == nil {
				copied, skipped = w.bytes, r.Stdout.LiveSkipped
			}
			return err
		}
		silent := func() error {
			_, err := client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Hour})
			return err
		}
		m, err := alternate(b.rounds(21), live, b.removeLogs, silent, b.removeLogs)
		if err != nil {
			return "", false, err
		}
		if lossless && skipped > 0 {
			return "", false, fmt.Errorf("a lossless copy misses %d bytes", skipped)
		}
		return fmt.Sprintf("%.2f × (%s, %s), %.0f %% of the copy", float64(m[2])/float64(m[0]), ms(m[0]), ms(m[2]), 100*float64(copied)/float64(copied+skipped)), true, nil
	}
}

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// firstByte is a live writer that takes note of what comes first, and when.
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

// liveLatency has the command write the time and compares that with the time
// at which it comes.
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

// discarded is a live writer that knows when everything has come.
type discarded struct {
	bytes int64
	ended chan struct{}
}

func (w *discarded) Write(p []byte) (int, error) {
	w.bytes += int64(len(p))
	return len(p), nil
}

func (w *discarded) EndOutput() { close(w.ended) }

// liveCost compares a command with a live copy to one without. Rounds do not
// overlap: what of a copy comes behind the result is waited for between them.
func liveCost(command string, maxLogBytes int64, whole bool, text func(*bench, int64) error) func(*bench) (string, bool, error) {
	return func(b *bench) (string, bool, error) {
		if err := text(b, int64(float64(1<<28)*b.scale)); err != nil {
			return "", false, err
		}
		client, err := b.launchWith(maxLogBytes)
		if err != nil {
			return "", false, err
		}
		defer client.Close()
		execute := func(w io.Writer) error {
			_, err := client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Hour, Stdout: w})
			return err
		}
		var w *discarded
		live := func() error {
			w = &discarded{ended: make(chan struct{})}
			if whole {
				return execute(shared.WholeOutput{Writer: w})
			}
			return execute(w)
		}
		await := func() error {
			<-w.ended
			return b.removeLogs()
		}
		all := &discarded{ended: make(chan struct{})}
		if err := execute(shared.WholeOutput{Writer: all}); err != nil {
			return "", false, err
		}
		<-all.ended
		silent := func() error { return execute(nil) }
		m, err := alternate(21, live, await, silent, b.removeLogs)
		if err != nil {
			return "", false, err
		}
		if whole && w.bytes != all.bytes || w.bytes < min(all.bytes, 32<<20) { // of which nothing is left out
			return "", false, fmt.Errorf("%d bytes of %d came", w.bytes, all.bytes)
		}
		ratio := float64(m[2]) / float64(m[0])
		return fmt.Sprintf("%.2f × (%s, %s), %.0f %% of the copy within %s", ratio, ms(m[0]), ms(m[2]), 100*float64(w.bytes)/float64(all.bytes), ms(m[0]+m[1])), ratio >= 0.9, nil
	}
}

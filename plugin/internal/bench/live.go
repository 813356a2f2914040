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
func liveCost(command string, maxLogBytes int64, text func(*bench, int64) error) func(*bench) (string, bool, error) {
	return func(b *bench) (string, bool, error) {
		if err := text(b, int64(float64(1<<28)*b.scale)); err != nil {
			return "", false, err
		}
		client, err := b.launchWith(maxLogBytes)
		if err != nil {
			return "", false, err
		}
		defer client.Close()
		var w *discarded
		execute := func(w io.Writer) (*shared.Result, error) {
			return client.Execute(b.ctx, shared.ExecuteRequest{Command: command, Timeout: time.Hour, Stdout: w})
		}
		var r *shared.Result
		live := func() (err error) {
			w = &discarded{ended: make(chan struct{})}
			r, err = execute(w)
			return err
		}
		await := func() error {
			<-w.ended
			if want := r.Stdout.TotalBytes; w.bytes < want {
				return fmt.Errorf("%d bytes of at least %d came", w.bytes, want)
			}
			return b.removeLogs()
		}
		silent := func() error {
			_, err := execute(nil)
			return err
		}
		if err := silent(); err != nil {
			return "", false, err
		}
		m, err := alternate(21, live, await, silent, b.removeLogs)
		if err != nil {
			return "", false, err
		}
		ratio := float64(m[2]) / float64(m[0])
		return fmt.Sprintf("%.2f × (%s, %s), the rest of the copy within %s", ratio, ms(m[0]), ms(m[2]), ms(m[1])), ratio >= 0.9, nil
	}
}

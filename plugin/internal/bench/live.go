package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

func liveRows() []row {
	const (
		slow = "for i in {1..50}; do head -c 1000000 text; sleep 0.02; done"
		grep = "head -c 100000000 text | grep --color=always -n module"
		nuls = "head -c $((4*$(stat -c %s text))) /dev/zero"
		four = "cat text text text text"
	)
	live := func(name string, cost liveCost) row {
		return row{name, "no live copy", "–", cost.measure}
	}
	return []row{
		{"live output, from the command to the host", "–", "≤ 20 ms", liveLatency},
		live("live copy of 50 MB/s", liveCost{command: slow}),
		live("live copy of seq", liveCost{command: "seq 30000000"}),
		live("live copy of text at full speed", liveCost{command: "cat text"}),
		live("live copy of grep --color", liveCost{command: grep}),
		live("live copy of coloured text at full speed", liveCost{command: "cat coloured"}),
		live("live copy of NULs at full speed", liveCost{command: nuls}),
		live("live copy of four times MaxLogBytes at full speed", liveCost{command: four, maxLogBytes: 1 << 28}),
		live("live copy of 8 MiB of text, which the result waits for", liveCost{command: "head -c 8388608 text"}),
		live("lossless live copy of coloured text at full speed", liveCost{command: "cat coloured", lossless: true}),
		live("lossless live copy of NULs at full speed", liveCost{command: nuls, lossless: true}),
		live("lossless live copy of four times MaxLogBytes at full speed",
			liveCost{command: four, maxLogBytes: 1 << 28, lossless: true}),
	}
}

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
func liveLatency(b *bench) (outcome, error) {
	var times []time.Duration
	for range b.rounds(100) {
		writer := &firstByte{text: make(chan string, 1)}
		req := shared.ExecuteRequest{Command: "sleep 0.01; echo $EPOCHREALTIME; sleep 0.01", Stdout: writer}
		_, err := b.client.Execute(b.ctx, req)
		if err != nil {
			return outcome{}, err
		}
		seconds := strings.TrimSpace(<-writer.text)
		micros, err := strconv.ParseInt(strings.Replace(seconds, ".", "", 1), 10, 64)
		if err != nil {
			return outcome{}, err
		}
		times = append(times, writer.when.Sub(time.UnixMicro(micros)))
	}
	typical := median(times)
	return outcome{measured: ms(typical), met: typical <= 20*time.Millisecond}, nil
}

// discarded is a live writer that counts the bytes.
type discarded struct {
	bytes int64
}

func (w *discarded) Write(p []byte) (int, error) {
	w.bytes += int64(len(p))
	return len(p), nil
}

// liveCost compares a command with a live copy to one without. The command may use the files
// "text" and "coloured".
type liveCost struct {
	command     string
	maxLogBytes int64 // 0: manyBytes
	lossless    bool
}

func (c liveCost) measure(b *bench) (outcome, error) {
	err := b.text(b.bytes(1 << 28))
	if err != nil {
		return outcome{}, err
	}
	err = b.coloured(b.bytes(1 << 28))
	if err != nil {
		return outcome{}, err
	}
	client, err := b.launchWith(cmp.Or(c.maxLogBytes, manyBytes))
	if err != nil {
		return outcome{}, err
	}
	defer client.Close()
	var copied, skipped int64
	live := func() error {
		writer := new(discarded)
		r, problem := client.Execute(b.ctx, shared.ExecuteRequest{
			Command:  c.command,
			Timeout:  time.Hour,
			Stdout:   writer,
			Lossless: c.lossless,
		})
		if problem != nil {
			return problem
		}
		copied = writer.bytes
		skipped = r.Stdout.LiveSkipped
		return nil
	}
	silent := b.executeOf(client, shared.ExecuteRequest{Command: c.command, Timeout: time.Hour})
	silent.cleanUp = b.removeLogs
	times, err := compare(b.rounds(21), subject{run: live, cleanUp: b.removeLogs}, silent)
	if err != nil {
		return outcome{}, err
	}
	if c.lossless && skipped > 0 {
		return outcome{}, fmt.Errorf("a lossless copy misses %d bytes", skipped)
	}
	text := fmt.Sprintf("%.2f × (%s, %s), %.0f %% of the copy",
		times.speed(), ms(times.plugin), ms(times.other), 100*float64(copied)/float64(copied+skipped))
	return outcome{measured: text, met: true}, nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"bashplugin/shared"
)

// liveCopy is the live writer of one stream of a command.
type liveCopy struct {
	to    io.Writer
	shut  atomic.Bool           // it refuses more bytes
	bytes atomic.Int64          // how many have come
	busy  atomic.Bool           // a Write is under way
	err   atomic.Pointer[error] // from the Write that failed
}

// Write implements io.Writer. An error ends the live copy.
func (c *liveCopy) Write(p []byte) (int, error) {
	if c.shut.Load() {
		return 0, io.ErrClosedPipe
	}
	c.busy.Store(true)
	defer c.busy.Store(false)
	c.bytes.Add(int64(len(p)))
	n, err := c.to.Write(p)
	if err != nil {
		err = fmt.Errorf("cannot write the output: %w", err)
		c.err.Store(&err)
	}
	return n, err
}

// failure is the error of the Write that failed, nil if none has.
func (c *liveCopy) failure() error {
	err := c.err.Load()
	if err == nil {
		return nil
	}
	return *err
}

// quiet is the silence after which the live copy of a job counts as complete. The
// contract has no signal for its end.
const quiet = 200 * time.Millisecond

// await waits until the copy has as many bytes as the sanitized text, or until nothing has
// come for a while. For plain text the numbers are equal once everything has come.
func (c *liveCopy) await(ctx context.Context, out shared.Output) {
	const step = quiet / 100
	idle := time.Duration(0)
	for idle < quiet && ctx.Err() == nil {
		if !c.busy.Load() && c.bytes.Load() == out.TotalBytes {
			return
		}
		before := c.bytes.Load()
		time.Sleep(step)
		idle += step
		if c.busy.Load() || c.bytes.Load() != before {
			idle = 0
		}
	}
}

// complete shows the text of the Result if the plugin wrote no live copy, and says
// where the whole text is if the copy skipped bytes.
func (c *liveCopy) complete(out shared.Output) {
	if c.bytes.Load() == 0 {
		show(c, out, "")
	}
	if out.LiveSkipped > 0 {
		fmt.Fprintf(os.Stderr, "[%d bytes were skipped above; %s]\n", out.LiveSkipped, whereWhole(out))
	}
}

// oneStream reports whether stdout and stderr are the same file, as with a
// terminal. Then only a merged command keeps its lines in order.
func oneStream() bool {
	out, _ := os.Stdout.Stat()
	other, _ := os.Stderr.Stat()
	return os.SameFile(out, other)
}

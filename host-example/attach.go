package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/term"

	"bashplugin/shared"
)

// display is where a command's terminal is drawn, while a person is attached to it.
type display struct {
	copy liveCopy
	on   atomic.Bool
}

// Write implements io.Writer.
func (d *display) Write(p []byte) (int, error) {
	if d.on.Load() {
		return os.Stdout.Write(p)
	}
	return len(p), nil
}

// inTerminal runs a command in a terminal of the size of the person's own.
func (s *shell) inTerminal(ctx context.Context, command string) error {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || s.in.editor == nil {
		return errors.New("a command with ! needs a terminal, and this program has none")
	}
	d := new(display)
	d.copy.to = d
	d.on.Store(true)
	req := shared.ExecuteRequest{Command: command, Mode: shared.ModeBackground, Dir: s.dir, Env: s.env, Stdin: shared.StdinTTY, Stdout: &d.copy,
		Columns: min(columns, shared.MaxColumns), Rows: min(rows, shared.MaxRows)}
	return s.stay(ctx, d, func() (*shared.Result, error) { return s.client.Execute(ctx, req) })
}

// attach shows the terminal of a job, and goes on there.
func (s *shell) attach(ctx context.Context, pid int, _ string) error {
	d := s.displays[pid]
	if d == nil {
		return fmt.Errorf("job %d has no terminal here: start one by !COMMAND", pid)
	}
	return s.stay(ctx, d, func() (*shared.Result, error) {
		r, err := s.client.Check(ctx, shared.CheckRequest{PID: pid, Peek: true})
		if err == nil {
			fmt.Print("\x1b[2J\x1b[H" + strings.ReplaceAll(r.Screen, "\n", "\r\n"))
			d.on.Store(true)
		}
		return r, err
	})
}

// stay passes keys to the job that begin starts or finds, until its end or Ctrl-].
func (s *shell) stay(ctx context.Context, d *display, begin func() (*shared.Result, error)) error {
	mode, err := term.MakeRaw(int(os.Stdin.Fd())) // before the first output
	if err != nil {
		return err
	}
	r, err := begin()
	for left := false; err == nil && !left && r.Status == shared.StatusRunning && ctx.Err() == nil; {
		s.displays[r.PID] = d
		req := shared.CheckRequest{PID: r.PID, Peek: true, Limits: shared.Limits{MaxBytes: 1}}
		if isTyped() {
			keys := make([]byte, 4<<10)
			n, failed := os.Stdin.Read(keys)
			req.Input, _, left = strings.Cut(string(keys[:n]), "\x1d")
			left = left || failed != nil
		}
		if r, err = s.client.Check(ctx, req); errors.Is(err, shared.ErrInvalid) { // it has just ended
			req.Input = ""
			r, err = s.client.Check(ctx, req)
		}
	}
	if err == nil && r.Status != shared.StatusRunning {
		shown, stop := context.WithTimeout(ctx, lastWords)
		d.copy.await(shown, r.Stdout)
		stop()
	}
	d.on.Store(false)
	_ = term.Restore(int(os.Stdin.Fd()), mode)
	if err == nil {
		fmt.Println()
		s.finish(ctx, r)
	}
	return err
}

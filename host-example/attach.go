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

// inTerminal runs a command in a terminal that is as large as the person's own.
func (s *shell) inTerminal(ctx context.Context, command string) error {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || s.in.editor == nil {
		return errors.New("a command with ! needs a terminal, and this program has none")
	}
	d := new(display)
	d.copy.to = d
	d.on.Store(true)
	req := shared.ExecuteRequest{
		Command: command,
		Mode:    shared.ModeBackground,
		Dir:     s.dir,
		Env:     s.env,
		Stdin:   shared.StdinTTY,
		Stdout:  &d.copy,
		Columns: min(columns, shared.MaxColumns),
		Rows:    min(rows, shared.MaxRows),
	}
	return s.stay(ctx, d, func() (*shared.Result, error) { return s.bash.Execute(ctx, req) })
}

// attach shows a job's terminal and passes the person's keys to it.
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
	left := false
	for err == nil && !left && r.Status == shared.StatusRunning && ctx.Err() == nil {
		s.displays[r.PID] = d
		var keys string
		keys, left = pressedKeys()
		r, err = s.typeInto(ctx, r.PID, keys)
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

// pressedKeys waits a short time for keys. left says that Ctrl-] was one of them, or that
// there will be no more.
func pressedKeys() (keys string, left bool) {
	if !isTyped() {
		return "", false
	}
	buffer := make([]byte, 4<<10)
	n, err := os.Stdin.Read(buffer)
	keys, _, left = strings.Cut(string(buffer[:n]), "\x1d")
	return keys, left || err != nil
}

// typeInto types keys into a job's terminal and returns the job's state.
func (s *shell) typeInto(ctx context.Context, pid int, keys string) (*shared.Result, error) {
	req := shared.CheckRequest{PID: pid, Peek: true, Input: keys, Limits: shared.Limits{MaxBytes: 1}}
	r, err := s.client.Check(ctx, req)
	if errors.Is(err, shared.ErrInvalid) { // the job has just ended
		req.Input = ""
		return s.client.Check(ctx, req)
	}
	return r, err
}

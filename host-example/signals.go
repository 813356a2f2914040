package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopped is why a context of this program ended: a signal that it got, or
// SIGPIPE where nobody reads its output any more.
type stopped syscall.Signal

func (s stopped) Error() string { return "stopped by " + syscall.Signal(s).String() }

// stopCode returns the exit code of a program that was stopped, as a shell
// tells it; ok is false where ctx has not ended so.
func stopCode(ctx context.Context) (code int, ok bool) {
	var s stopped
	if errors.As(context.Cause(ctx), &s) {
		return 128 + int(s), true
	}
	return 0, false
}

// failure is what a program that could not go on returns. Where it was stopped,
// that is why.
func failure(ctx context.Context, err error) (int, error) {
	if code, ok := stopCode(ctx); ok {
		return code, nil
	}
	return 1, err
}

// interruptible returns a context that ends with the first signal that asks
// this program to end. The second one ends the program.
func interruptible() (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(context.Background())
	signals := stopSignals(os.Interrupt)
	go func() {
		stop(stopped((<-signals).(syscall.Signal)))
		os.Exit(128 + int((<-signals).(syscall.Signal)))
	}()
	return ctx, stop
}

// stopSignals returns the signals that end a program, and more: but for those
// that whoever started it has had ignored, as nohup does.
func stopSignals(more ...os.Signal) <-chan os.Signal {
	signal.Ignore(syscall.SIGPIPE) // a write fails instead, and ends the command
	signals := make(chan os.Signal, 1)
	for _, sig := range append(more, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT) {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	return signals
}

// onContinue has a function called when the program goes on after it was
// stopped, until stop is called.
func onContinue(f func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCONT)
	go func() {
		for range signals {
			f()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// brokenPipe returns what an outlet is to call: when nobody reads the output
// any more, the command ends as it would in a shell's pipeline.
func brokenPipe(stop context.CancelCauseFunc) func(error) {
	return func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			stop(stopped(syscall.SIGPIPE))
		}
	}
}

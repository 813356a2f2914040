package main

import (
	"io"
	"sync"
)

// firstFailure remembers the first write that fails. It is safe for concurrent
// use.
type firstFailure struct {
	mu  sync.Mutex
	err error
}

func (f *firstFailure) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstFailure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// watched is a writer whose failures somebody is told of.
type watched struct {
	io.Writer
	failed func(error)
}

// Write implements io.Writer.
func (w watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.failed(err)
	}
	return n, err
}

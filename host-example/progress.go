package main

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	// progressInterval is the time between two notifications while there is output.
	progressInterval = 100 * time.Millisecond

	// maxProgress is how many bytes of output one notification has. If there are more, it has
	// the last ones.
	maxProgress = 8 << 10

	// heartbeat is the time between notifications while there is no output. Many
	// clients give a call up after a minute of silence.
	heartbeat = 5 * time.Second
)

// progress is a live writer that sends the output as notifications.
type progress struct {
	mu sync.Mutex // guards pending

	// pending is output that is not sent yet, at most the last maxProgress bytes.
	pending []byte
}

// Write implements io.Writer.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, text...)
	p.pending = p.pending[max(0, len(p.pending)-maxProgress):]
	return len(text), nil
}

// run sends until done is closed. value grows with each notification.
func (p *progress) run(done <-chan struct{}, send func(text string, value int)) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	value := 0
	last := time.Now()
	over := false
	for !over {
		select {
		case <-ticker.C:
		case <-done:
			over = true
		}
		text := p.take()
		if text != "" || !over && time.Since(last) >= heartbeat {
			value += len(text) + 1
			last = time.Now()
			send(text, value)
		}
	}
}

// take returns the pending output as text, except an incomplete rune at its end.
func (p *progress) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := len(p.pending)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(p.pending[i]) && !utf8.FullRune(p.pending[i:]) {
			end = i
		}
	}
	text := ansi.Strip(string(p.pending[:end]))
	p.pending = bytes.Clone(p.pending[end:])
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

package main

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	progressInterval = 100 * time.Millisecond // between two notifications
	maxProgress      = 8 << 10                // bytes of output in one; if there are more, the last ones

	// heartbeat is the time between notifications while there is no output. Many
	// clients give a call up after a minute of silence.
	heartbeat = 5 * time.Second
)

// progress is a live writer that sends the output as notifications.
type progress struct {
	mu      sync.Mutex // guards pending
	pending []byte     // output that is not sent yet, at most the last maxProgress bytes
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
	value, last := 0, time.Now()
	for over := false; !over; {
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
	text := strings.ToValidUTF8(ansi.Strip(string(p.pending[:end])), string(utf8.RuneError))
	p.pending = append([]byte(nil), p.pending[end:]...)
	return text
}

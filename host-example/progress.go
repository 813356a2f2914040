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
	maxProgress      = 8 << 10                // bytes of output in one; of more the end is sent

	// heartbeat is how often something is sent while there is no output. Many
	// clients give up a call of which they have heard nothing for a minute.
	heartbeat = 5 * time.Second
)

// progress is a live writer that sends what it gets as notifications, few
// enough for any client, and empty ones while it gets nothing. stop must end
// it.
type progress struct {
	send func(message string, value int64) error // value grows with each

	mu      sync.Mutex  // guards what follows; held while sending
	pending []byte      // not sent yet: the last maxProgress of it
	value   int64       // bytes so far, and empty notifications
	last    time.Time   // something was sent
	timer   *time.Timer // will send; nil: nothing waits
	silence *time.Timer // will send although nothing waits
	stopped bool
	err     error // of send
}

func newProgress(send func(string, int64) error) *progress {
	p := &progress{send: send}
	p.mu.Lock() // who beats looks at silence
	defer p.mu.Unlock()
	p.silence = time.AfterFunc(heartbeat, p.beat)
	return p
}

// Write sends at once, or where that would be too soon, together with what
// comes until then.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value += int64(len(text))
	p.pending = append(p.pending, text...)
	p.pending = p.pending[max(0, len(p.pending)-maxProgress):]
	switch wait := progressInterval - time.Since(p.last); {
	case p.timer != nil:
	case wait > 0:
		p.timer = time.AfterFunc(wait, p.flush)
	default:
		p.sendLocked()
	}
	return len(text), p.err
}

func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer = nil
		p.sendLocked()
	}
}

func (p *progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.timer != nil { // or something is about to be sent
		return
	}
	p.value++
	p.sendLocked()
}

// stop sends what is left.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
		p.sendLocked()
	}
	p.stopped = true
	p.silence.Stop()
}

// sendLocked keeps a rune back that has not come whole.
func (p *progress) sendLocked() {
	end := len(p.pending)
	for i := end - 1; i >= max(0, end-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(p.pending[i]) {
			if !utf8.FullRune(p.pending[i:]) {
				end = i
			}
			break
		}
	}
	message := strings.ToValidUTF8(ansi.Strip(string(p.pending[:end])), string(utf8.RuneError))
	p.pending = append([]byte(nil), p.pending[end:]...)
	p.last = time.Now()
	p.silence.Reset(heartbeat)
	if p.err == nil {
		p.err = p.send(message, p.value)
	}
}

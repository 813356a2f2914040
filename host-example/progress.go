package main

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	// progressInterval is the time between two notifications while there is output.
	progressInterval = 100 * time.Millisecond

	// maxProgress is how many bytes of output one notification has. If there are more, it has
	// the last ones.
	maxProgress = 8 << 10

	// maxEscape is how many bytes of an incomplete escape sequence are held back.
	maxEscape = 256

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
		text := p.take(over)
		if text != "" || !over && time.Since(last) >= heartbeat {
			value += len(text) + 1
			last = time.Now()
			send(text, value)
		}
	}
}

// take returns the pending output as text: for each line what a terminal would show at its end.
// What can change with the next bytes stays pending, unless all is set.
func (p *progress) take(all bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := len(p.pending)
	if !all {
		end = complete(p.pending)
	}
	text := strings.ToValidUTF8(ansi.Strip(string(p.pending[:end])), string(utf8.RuneError))
	p.pending = bytes.Clone(p.pending[end:])
	text = overwritten.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	return strings.Map(printable, text)
}

// overwritten matches the part of a line that a carriage return lets the rest overwrite.
var overwritten = regexp.MustCompile(`[^\n]*\r`)

// printable drops control characters.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// complete returns the length of raw output without an incomplete rune, escape sequence or end of
// line at its end.
func complete(raw []byte) int {
	end := len(raw)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(raw[i]) && !utf8.FullRune(raw[i:]) {
			end = i
		}
	}
	escape := bytes.LastIndexByte(raw[:end], '\x1b')
	if escape >= max(0, end-maxEscape) {
		_, _, length, state := ansi.DecodeSequence(raw[escape:end], ansi.NormalState, nil)
		if state != ansi.NormalState || length == 1 {
			end = escape
		}
	}
	if end > 0 && raw[end-1] == '\r' {
		end--
	}
	return end
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// screen is a terminal on which a command's output appears, and below it, as
// long as the command is silent, an indicator. It is safe for concurrent use.
type screen struct {
	mu        sync.Mutex // guards what follows
	to        io.Writer  // a terminal that takes "\n" for down, not for a new line
	midLine   bool       // the output so far does not end with a newline
	indicator bool       // is shown, in a line of its own
	bytes     int64      // written since began
	began     time.Time
	last      time.Time // something was written
}

func newScreen(to io.Writer) *screen { return &screen{to: to} }

// begin starts counting for the indicator.
func (s *screen) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.last, s.bytes = now, now, 0
}

// Write shows output.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eraseLocked()
	if _, err := s.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	if len(p) > 0 {
		s.midLine = p[len(p)-1] != '\n'
	}
	s.bytes += int64(len(p))
	s.last = time.Now()
	return len(p), nil
}

// end leaves the cursor at the beginning of a line, below the output.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eraseLocked()
	if s.midLine {
		_, _ = io.WriteString(s.to, "\r\n")
		s.midLine = false
	}
}

func (s *screen) eraseLocked() {
	if s.indicator {
		_, _ = io.WriteString(s.to, "\r\x1b[K")
		s.indicator = false
	}
}

// silence is how long a command writes nothing before the indicator appears.
const silence = time.Second

// indicate draws the indicator: elapsed time, output, its rate, and what is
// being typed. It does not touch a line of the command's that is not complete.
func (s *screen) indicate(now time.Time, typed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.midLine || now.Sub(s.last) < silence && typed == "" {
		return
	}
	s.eraseLocked()
	elapsed := now.Sub(s.began)
	rate := int64(float64(s.bytes) / max(elapsed.Seconds(), 1))
	fmt.Fprintf(s.to, "\x1b[2m[%v, %s, %s/s]\x1b[m %s", elapsed.Truncate(time.Second), size(s.bytes), size(rate), typed)
	s.indicator = true
}

// size writes a number of bytes for reading, as in 1.2 MB.
func size(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, larger
	}
	if unit == "B" || value >= 99.95 {
		return fmt.Sprintf("%.0f %s", value, unit)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

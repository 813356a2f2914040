package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// screen is a terminal on which a command's output appears, and below it, as
// long as the command is silent, an indicator. It is safe for concurrent use.
type screen struct {
	mu     sync.Mutex // guards what follows
	to     io.Writer  // a terminal that takes "\n" for down, not for a new line
	width  func() int // of the terminal
	line   []byte     // of the output, the last one, without what is too much of it
	erase  string     // takes the indicator away, which has a line of its own; "": it is not shown
	bytes  int64      // written since began
	counts bool       // that is the output
	began  time.Time
	last   time.Time // something was written
}

func newScreen(to io.Writer, width func() int) *screen { return &screen{to: to, width: width} }

// begin starts the time for the indicator. Where the output comes here it counts
// that, too.
func (s *screen) begin(now time.Time, counts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.last, s.bytes, s.counts = now, now, 0, counts
}

// counter counts output that is not shown. It is safe for concurrent use.
type counter struct{ *screen }

func (c counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(len(p))
	return len(p), nil
}

// Write shows output.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eraseLocked()
	if err := s.showLocked(p); err != nil {
		return 0, err
	}
	s.bytes += int64(len(p))
	s.last = time.Now()
	return len(p), nil
}

// note shows lines that are not the command's.
func (s *screen) note(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
	return s.showLocked(p)
}

// end leaves the cursor at the beginning of a line, below the output.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

func (s *screen) endLocked() {
	s.eraseLocked()
	if s.column() != 0 {
		_ = s.showLocked([]byte("\n"))
	}
}

func (s *screen) eraseLocked() {
	_, _ = io.WriteString(s.to, s.erase)
	s.erase = ""
}

func (s *screen) showLocked(p []byte) error {
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		s.line = append(s.line[:0], p[i+1:]...)
	} else {
		s.line = append(s.line, p...)
	}
	if excess := len(s.line) - maxColumns; excess > 0 {
		s.line = append(s.line[:0], s.line[excess:]...)
	}
	_, err := s.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return err
}

// maxColumns is about how much is known of a line.
const maxColumns = 16 << 10

// column is about how many columns the last line takes: 0 where it shows
// nothing, lineEnd where the cursor may be behind the terminal's last column. It
// cannot be brought back there.
func (s *screen) column() int {
	shown := 0
	for _, part := range bytes.Split(s.line, []byte("\r")) {
		shown = max(shown, lineWidth(string(part), s.width()))
	}
	switch {
	case shown == 0:
		return 0
	case shown%s.width() == 0 || len(s.line) == maxColumns:
		return lineEnd
	}
	return shown
}

const lineEnd = -1

// lineWidth is about how many columns a line takes. A tab ends at the next
// multiple of tabWidth, or at the terminal's last column.
func lineWidth(line string, width int) int {
	texts := strings.Split(line, "\t")
	shown := ansi.StringWidth(texts[0])
	for _, text := range texts[1:] {
		at := shown % width
		shown += min((at/tabWidth+1)*tabWidth, width-1) - at + ansi.StringWidth(text)
	}
	return shown
}

const tabWidth = 8

// silence is how long a command writes nothing before the indicator appears.
const silence = time.Second

const (
	saveCursor = "\x1b7" // and colours
	// lineBelow makes sure that there is one, which may scroll, and goes there.
	lineBelow = "\n\x1b[A" + saveCursor + "\r\n"
	eraseLine = "\r\x1b[K\x1b8" // and goes back
)

// indicate draws the indicator: elapsed time, output, its rate, and what is
// being typed. A line of the command's that is not complete stays as it is: the
// indicator is below it, and never while more of that line may be on its way.
func (s *screen) indicate(now time.Time, typed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	column := s.column()
	if now.Sub(s.last) < silence && (column != 0 || typed == "") || column == lineEnd {
		return
	}
	s.eraseLocked()
	elapsed := now.Sub(s.began)
	state := fmt.Sprintf("[%v]", elapsed.Truncate(time.Second))
	if s.counts {
		rate := int64(float64(s.bytes) / max(elapsed.Seconds(), 1))
		state = fmt.Sprintf("[%v, %s, %s/s]", elapsed.Truncate(time.Second), size(s.bytes), size(rate))
	}
	room := s.width() - 1 // where the cursor stays in the line
	state = ansi.Truncate(state, room, "")
	typed = endOf(visible(typed), room-ansi.StringWidth(state)-1)
	begin := saveCursor
	if column != 0 {
		begin = lineBelow
	}
	s.erase = eraseLine
	fmt.Fprintf(s.to, "%s\x1b[0;2m%s\x1b[m %s", begin, state, typed)
}

// visible is typed text without what would not be a character on the screen.
func visible(typed string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		}
		return -1
	}, typed)
}

// endOf cuts the beginning of a text that is wider than room.
func endOf(text string, room int) string {
	if room <= 0 {
		return ""
	}
	if excess := ansi.StringWidth(text) - room; excess > 0 {
		return ansi.TruncateLeft(text, excess+1, "…")
	}
	return text
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

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// key is what a person asks for while a command runs.
type key int

const (
	keyInterrupt key = iota // Ctrl-C
	keyDetach               // Ctrl-Z, or a line with :detach
)

// detachLine is the line that is a key.
const detachLine = ":detach"

// console is where the lines of a repl come from: a person at a terminal, who
// edits them and may press keys while a command runs, or a pipe. One goroutine
// may use it; screen is safe for all.
type console struct {
	ctx    context.Context // its end is the input's
	chunks <-chan []byte   // the input as it comes; closed at its end
	typed  []byte          // not used yet
	escape escape          // that is being typed while a command runs
	keys   keys            // at the prompt
	over   bool            // chunks is closed
	failed error           // why the input ended, but for its end; set before chunks is closed

	// Where there is a terminal:
	editor  atomic.Pointer[term.Terminal]
	prompts atomic.Bool // a line is being edited
	screen  *screen
	restore func() // leaves the mode in which keys come one by one
}

// openConsole takes stdin. Only where it and stdout are a terminal is there
// line editing, a prompt and an indicator.
func openConsole(ctx context.Context) (*console, error) {
	chunks := make(chan []byte)
	c := &console{ctx: ctx, chunks: chunks, restore: func() {}}
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	if term.IsTerminal(in) && term.IsTerminal(out) && os.Getenv("TERM") != "dumb" {
		state, err := term.MakeRaw(in)
		if err != nil {
			return nil, fmt.Errorf("cannot set up the terminal: %w", err)
		}
		stop := onContinue(func() { _, _ = term.MakeRaw(in) }) // the shell has had the terminal
		c.restore = func() {
			stop()
			_ = term.Restore(in, state)
		}
		c.screen = newScreen(os.Stdout, terminalWidth)
		c.editor.Store(newEditor(c, new(history)))
	}
	go c.read(os.Stdin, chunks) // until the program ends: a read cannot be called back
	return c, nil
}

func newEditor(c *console, past term.History) *term.Terminal {
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{lineReader{c}, os.Stdout}, "")
	editor.History = past
	return editor
}

// terminalWidth is that of stdout.
func terminalWidth() int {
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

func (c *console) read(r io.Reader, chunks chan<- []byte) {
	defer close(chunks)
	for {
		buffer := make([]byte, 4096)
		n, err := r.Read(buffer)
		if n > 0 {
			chunks <- buffer[:n]
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO) { // EIO: the terminal is gone
				c.failed = err
			}
			return
		}
	}
}

// inputError returns why the input ended early, nil where it did not.
func (c *console) inputError() error {
	if !c.over {
		return nil
	}
	return c.failed
}

func (c *console) isTerminal() bool { return c.editor.Load() != nil }

// log returns where the program's log goes: nil for stderr, as it is.
func (c *console) log() io.Writer {
	if c.isTerminal() && term.IsTerminal(int(os.Stderr.Fd())) {
		return consoleLog{c}
	}
	return nil
}

// consoleLog shows lines above the prompt or, while a command runs, between
// its own. It is safe for concurrent use.
type consoleLog struct{ c *console }

func (l consoleLog) Write(p []byte) (int, error) {
	if l.c.prompts.Load() {
		return l.c.editor.Load().Write(p)
	}
	return len(p), l.c.screen.note(p)
}

// stream returns where a command's output to a file goes.
func (c *console) stream(file *os.File) io.Writer {
	if c.isTerminal() && term.IsTerminal(int(file.Fd())) {
		return c.screen
	}
	return file
}

// counter counts output that is not shown, for the indicator. nil: there is none.
func (c *console) counter() io.Writer {
	if c.isTerminal() {
		return counter{c.screen}
	}
	return nil
}

// line returns the next line, without its end. A terminal shows the prompt.
func (c *console) line(prompt string) (string, error) {
	if editor := c.editor.Load(); editor != nil {
		if width, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
			_ = editor.SetSize(width, height)
		}
		editor.SetPrompt(prompt)
		c.keys.interrupted = false
		c.prompts.Store(true)
		line, err := editor.ReadLine()
		c.prompts.Store(false)
		if errors.Is(err, io.EOF) {
			c.editor.Store(newEditor(c, editor.History)) // this one would say it again
		}
		if utf8.RuneCountInString(line) >= editorRoom {
			return "", errLongLine
		}
		return strings.ReplaceAll(line, tabSign, "\t"), err
	}
	for !bytes.ContainsRune(c.typed, '\n') {
		if !c.more() {
			break
		}
	}
	if len(c.typed) == 0 {
		return "", io.EOF
	}
	line, rest, _ := bytes.Cut(c.typed, []byte("\n"))
	c.typed = rest
	return string(bytes.TrimSuffix(line, []byte("\r"))), nil
}

// wasInterrupted reports whether Ctrl-C ended the last line, which is empty then.
func (c *console) wasInterrupted() bool { return c.keys.interrupted }

// editorRoom is how many characters a line has room for in the editor, which
// drops the rest.
const editorRoom = 4096

var errLongLine = fmt.Errorf("a line that is typed may have at most %d characters: nothing was run; put a longer command into a file, or pipe it in", editorRoom-1)

// more waits for more input.
func (c *console) more() bool {
	select {
	case chunk, ok := <-c.chunks:
		c.typed = append(c.typed, chunk...)
		c.over = !ok
		return ok
	case <-c.ctx.Done():
		return false
	}
}

// lineReader gives the editor no more than one line at a time: what comes
// after it may be keys for the command in that line.
type lineReader struct{ c *console }

func (r lineReader) Read(p []byte) (int, error) {
	c := r.c
	for len(c.keys.out) == 0 {
		c.typed = c.keys.take(c.typed)
		if len(c.keys.out) == 0 && !c.more() {
			return 0, io.EOF
		}
	}
	return c.keys.read(p), nil
}

// input returns what there is to wait for while a command runs, nil where
// nothing more can be a key: of a pipe only the next line can.
func (c *console) input() <-chan []byte {
	if c.over || !c.isTerminal() && bytes.ContainsRune(c.typed, '\n') {
		return nil
	}
	return c.chunks
}

const (
	ctrlC         = 3
	backspace     = 8
	ctrlU         = 21
	ctrlZ         = 26
	ctrlBackslash = 28
	rubout        = 127
)

// typable is the control bytes that can be typed ahead: Ctrl-D too ends a
// session.
const typable = "\t\r\n\x04"

// during calls f, before the first prompt. At a terminal Ctrl-C calls interrupt;
// what is typed besides waits for the prompt.
func (c *console) during(f, interrupt func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for c.isTerminal() && !c.over {
		select {
		case <-done:
			return
		case chunk, ok := <-c.chunks:
			c.typed = append(c.typed, chunk...)
			c.over = !ok
			if bytes.IndexByte(chunk, ctrlC) >= 0 {
				interrupt()
			}
		}
	}
	<-done
}

// begin starts a command's time, and returns the keys that were pressed ahead.
// counts is whether its output comes here.
func (c *console) begin(counts bool) []key {
	if c.isTerminal() {
		c.screen.begin(time.Now(), counts)
	}
	ahead := c.typed
	c.typed, c.escape = nil, noEscape
	return c.take(ahead, !c.over)
}

// end ends a command's time.
func (c *console) end() {
	if c.isTerminal() {
		c.screen.end()
	}
}

// take takes input that came while a command runs, and returns the keys in it.
// The rest waits for the prompt.
func (c *console) take(chunk []byte, ok bool) []key {
	c.over = !ok
	var keys []key
	for _, b := range chunk {
		if k, ok := c.press(b); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// press takes one byte. It reports a key.
func (c *console) press(b byte) (key, bool) {
	if c.isTerminal() && c.escape.takes(b) {
		return 0, false
	}
	if c.isTerminal() {
		switch b {
		case ctrlC, ctrlBackslash:
			c.typed = nil
			return keyInterrupt, true
		case ctrlZ:
			return keyDetach, true
		case backspace, rubout:
			_, size := utf8.DecodeLastRune(c.partial())
			c.typed = c.typed[:len(c.typed)-size]
			return 0, false
		case ctrlU:
			c.typed = c.typed[:len(c.typed)-len(c.partial())]
			return 0, false
		}
		if b < ' ' && strings.IndexByte(typable, b) < 0 {
			return 0, false // would edit a line that is not there yet
		}
	}
	if (b == '\n' || b == '\r' && c.isTerminal()) && string(bytes.TrimSpace(c.partial())) == detachLine && c.mayBeKey() {
		c.typed = c.typed[:len(c.typed)-len(c.partial())]
		return keyDetach, true
	}
	c.typed = append(c.typed, b)
	return 0, false
}

// mayBeKey reports whether the unfinished line may be a key: any line of a
// person, the next one of a pipe.
func (c *console) mayBeKey() bool {
	return c.isTerminal() || len(c.partial()) == len(c.typed)
}

// partial is the line that is being typed.
func (c *console) partial() []byte {
	return c.typed[bytes.LastIndexAny(c.typed, "\r\n")+1:]
}

// tick draws the indicator, where there is a terminal.
func (c *console) tick() {
	if c.isTerminal() {
		c.screen.indicate(time.Now(), string(c.partial()))
	}
}

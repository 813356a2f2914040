package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/ergochat/readline"
	"golang.org/x/term"
	"mvdan.cc/sh/v3/syntax"
)

// input is where a repl's commands come from. There is line editing only if
// stdin and stdout are a terminal.
type input struct {
	editor *readline.Instance // nil: there is none
	pipe   *bufio.Reader
}

func openInput() (*input, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) || os.Getenv("TERM") == "dumb" {
		return &input{pipe: bufio.NewReader(os.Stdin)}, nil
	}
	history := "" // lines are kept over sessions
	if dir, err := os.UserConfigDir(); err == nil && os.MkdirAll(filepath.Join(dir, "bashplugin"), 0o700) == nil {
		history = filepath.Join(dir, "bashplugin", "history")
	}
	t := new(terminal)
	editor, err := readline.NewFromConfig(&readline.Config{
		HistoryFile:         history,
		HistoryLimit:        1000,
		FuncFilterInputRune: func(r rune) (rune, bool) { return r, r != readline.CharCtrlZ }, // nothing runs that it could stop
		Stdin:               t,
		Stdout:              t,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w", err)
	}
	_ = os.Chmod(history, 0o600) // the editor has made it
	return &input{editor: editor}, nil
}

// command reads a line, or as many as bash would read, as for a here-document
// or an open quote. A command that a person gives up is "".
func (in *input) command(ctx context.Context, prompt string) (string, error) {
	text, err := in.line(ctx, prompt)
	for err == nil && !isDirective(strings.TrimSpace(text)) && isIncomplete(text) {
		var line string
		line, err = in.line(ctx, "> ")
		switch {
		case err == nil:
			text += "\n" + line
		case errors.Is(err, io.EOF) && in.editor != nil:
			return "", nil
		case errors.Is(err, io.EOF): // bash says what is missing
			return text, nil
		}
	}
	if errors.Is(err, readline.ErrInterrupt) {
		return "", nil
	}
	return text, err
}

// line returns early when ctx ends. The read goes on then: it cannot be called
// back.
func (in *input) line(ctx context.Context, prompt string) (string, error) {
	var line string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		if in.editor != nil {
			in.editor.SetPrompt(prompt)
			line, err = in.editor.ReadLine()
		} else if line, err = in.pipe.ReadString('\n'); line != "" && errors.Is(err, io.EOF) {
			err = nil
		}
	}()
	select {
	case <-done:
		return strings.TrimRight(line, "\r\n"), err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// isIncomplete reports whether bash would read on.
func isIncomplete(text string) bool {
	if rest := strings.TrimRight(text, `\`); (len(text)-len(rest))%2 == 1 && isOpen(text[:len(text)-1]+"'") {
		return true // it ends in a backslash that is not in a comment: there a quote would mean nothing
	}
	return isOpen(text)
}

func isOpen(text string) bool {
	_, err := syntax.NewParser().Parse(strings.NewReader(text+"\n"), "")
	return syntax.IsIncomplete(err) || err != nil && strings.Contains(err.Error(), "unclosed here-document") // a quoted one is not told
}

// terminal is stdin and stdout for the editor, which asks before each prompt
// where the cursor is. Some terminals never answer. So terminal makes sure that
// it is in the first column, below a line without an end, and answers itself.
type terminal struct{ asked atomic.Bool }

func (t *terminal) Write(p []byte) (int, error) {
	if string(p) == "\x1b[6n" {
		t.asked.Store(true)
		width, _, _ := term.GetSize(int(os.Stdout.Fd()))
		fmt.Fprintf(os.Stdout, "%*s\r", width-1, "")
		return len(p), nil
	}
	return os.Stdout.Write(p)
}

func (t *terminal) Read(p []byte) (int, error) {
	if t.asked.Swap(false) {
		return copy(p, "\x1b[1;1R"), nil
	}
	return os.Stdin.Read(p)
}

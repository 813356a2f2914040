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

// input reads the repl's commands. It has line editing only if stdin and stdout are
// a terminal.
type input struct {
	editor *readline.Instance // nil: commands come from pipe
	pipe   *bufio.Reader
}

func openInput() (*input, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) || os.Getenv("TERM") == "dumb" {
		return &input{pipe: bufio.NewReader(os.Stdin)}, nil
	}
	history := "" // the file that keeps lines for the next run; "": none
	if dir, err := os.UserConfigDir(); err == nil && os.MkdirAll(filepath.Join(dir, "bashplugin"), 0o700) == nil {
		history = filepath.Join(dir, "bashplugin", "history")
	}
	t := new(terminal)
	editor, err := readline.NewFromConfig(&readline.Config{
		HistoryFile:         history,
		HistoryLimit:        1000,
		FuncFilterInputRune: func(r rune) (rune, bool) { return r, r != readline.CharCtrlZ }, // at the prompt there is nothing to stop
		Stdin:               t,
		Stdout:              t,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w", err)
	}
	_ = os.Chmod(history, 0o600) // the editor has created the file
	return &input{editor: editor}, nil
}

// command reads a line, or as many lines as bash would read, for example for a
// here-document or an open quote. It returns "" if a person gives the command up.
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

// line reads one line. It returns early if ctx ends; the read cannot be cancelled
// and goes on.
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
		return true // it ends in a backslash, not in a comment: in a comment the quote would not open anything
	}
	return isOpen(text)
}

func isOpen(text string) bool {
	_, err := syntax.NewParser().Parse(strings.NewReader(text+"\n"), "")
	return syntax.IsIncomplete(err) || err != nil && strings.Contains(err.Error(), "unclosed here-document") // IsIncomplete misses a quoted one
}

// terminal is stdin and stdout for the editor, which asks the terminal before each
// prompt where the cursor is. Some terminals never answer. So this type moves the
// cursor to the first column, of the next line if need be, and answers itself.
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

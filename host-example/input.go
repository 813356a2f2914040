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
	hasTerminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	if !hasTerminal || os.Getenv("TERM") == "dumb" {
		return &input{pipe: bufio.NewReader(os.Stdin)}, nil
	}
	history := historyFile()
	t := new(terminal)
	withoutCtrlZ := func(r rune) (rune, bool) { return r, r != readline.CharCtrlZ }
	editor, err := readline.NewFromConfig(&readline.Config{
		HistoryFile:         history,
		HistoryLimit:        1000,
		FuncFilterInputRune: withoutCtrlZ, // at the prompt there is nothing to stop
		Stdin:               t,
		Stdout:              t,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w", err)
	}
	_ = os.Chmod(history, 0o600) // the editor has created the file
	return &input{editor: editor}, nil
}

// historyFile returns the path of the file that keeps lines for the next run, "" if it cannot
// be made.
func historyFile() string {
	config, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(config, "bashplugin")
	err = os.MkdirAll(dir, 0o700)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}

// command reads a line, or as many lines as bash would read, for example for a
// here-document or an open quote. It returns "" if a person abandons the command.
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
			return
		}
		line, err = in.pipe.ReadString('\n')
		if line != "" && errors.Is(err, io.EOF) {
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
	backslashes := len(text) - len(strings.TrimRight(text, `\`))
	if backslashes%2 == 0 {
		return isOpen(text)
	}
	// The last backslash joins lines, except in a comment. In a comment, a quote in its place
	// would not open anything.
	return isOpen(text[:len(text)-1]+"'") || isOpen(text)
}

// isOpen reports whether bash would read on if no backslash ended the text.
func isOpen(text string) bool {
	_, err := syntax.NewParser().Parse(strings.NewReader(text+"\n"), "")
	if err == nil {
		return false
	}
	// IsIncomplete misses a here-document whose delimiter is quoted.
	return syntax.IsIncomplete(err) || strings.Contains(err.Error(), "unclosed here-document")
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

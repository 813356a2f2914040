package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// continuation is the prompt within a command.
const continuation = "> "

// command reads a command: a line, or as many as bash would take for it, as
// with a here-document or an open quote.
func (s *shell) command(ctx context.Context) (string, error) {
	text, err := s.console.line(s.prompt())
	for err == nil && isShell(text) && isUnfinished(ctx, text) {
		var line string
		line, err = s.console.line(continuation)
		switch {
		case err == nil && s.console.wasInterrupted(), errors.Is(err, io.EOF) && s.console.isTerminal():
			return "", nil
		case errors.Is(err, io.EOF): // bash says what is missing
			return text, nil
		}
		text += "\n" + line
	}
	return text, err
}

// isShell reports whether a line is for bash, and has something for it.
func isShell(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#' && line[0] != ':'
}

// unfinished is what bash says of a command that goes on.
var unfinished = regexp.MustCompile(`(?m)^bash: line \d+: (syntax error: unexpected end of file|unexpected EOF while looking for matching|warning: here-document at line \d+ delimited by end-of-file)`)

// isUnfinished reports whether bash would read on. It runs nothing.
func isUnfinished(ctx context.Context, text string) bool {
	if rest := strings.TrimRight(text, `\`); (len(text)-len(rest))%2 == 1 {
		return true
	}
	bash := exec.CommandContext(ctx, "bash", "--norc", "-n")
	bash.Stdin = strings.NewReader(text + "\n")
	bash.Env = append(os.Environ(), "LC_ALL=C", "BASH_ENV=")
	message, _ := bash.CombinedOutput()
	return unfinished.Match(message)
}

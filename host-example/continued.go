package main

import (
	"context"
	"errors"
	"fmt"
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
	if err != nil || !isShell(text) {
		return text, err
	}
	var lines strings.Builder
	lines.WriteString(text)
	for goesOn, end := isUnfinished(ctx, text); goesOn; {
		line, err := s.console.line(continuation)
		switch {
		case err == nil && s.console.wasInterrupted():
			return "", nil
		case errors.Is(err, io.EOF) && s.console.isTerminal():
			fmt.Fprintln(s.out) // below the prompt
			return "", nil
		case errors.Is(err, io.EOF): // bash says what is missing
			return lines.String(), nil
		case err != nil:
			return "", err
		}
		lines.WriteString("\n" + line)
		if strings.Contains(line, end) { // bash is not asked after each line of a long text
			goesOn, end = isUnfinished(ctx, lines.String())
		}
	}
	return lines.String(), nil
}

// isShell reports whether a line is for bash, and has something for it.
func isShell(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#' && line[0] != ':'
}

// unfinished is what bash says of a command that goes on, and of what ends an
// open quote, bracket or here-document.
var unfinished = regexp.MustCompile("(?m)^bash: (?:line \\d+: )?(?:syntax error: unexpected end of file|unexpected EOF while looking for (?:matching )?`(.+)'|unexpected token `EOF'|warning: here-document at line \\d+ delimited by end-of-file \\(wanted `(.+)'\\))")

// isUnfinished reports whether bash would read on, and what is in every line that
// may end the command. It runs nothing.
func isUnfinished(ctx context.Context, text string) (goesOn bool, end string) {
	if rest := strings.TrimRight(text, `\`); (len(text)-len(rest))%2 == 1 {
		return true, ""
	}
	program := "bash"
	if _, set := os.LookupEnv("PATH"); !set { // the plugin does without, too
		program = "/bin/bash"
	}
	bash := exec.CommandContext(ctx, program, "--norc", "-n")
	bash.Args[0] = "bash" // which its messages begin with
	bash.Stdin = strings.NewReader(text + "\n")
	bash.Env = append(os.Environ(), "LC_ALL=C", "BASH_ENV=")
	message, _ := bash.CombinedOutput()
	match := unfinished.FindSubmatch(message)
	if match == nil {
		return false, ""
	}
	return true, string(match[1]) + string(match[2])
}

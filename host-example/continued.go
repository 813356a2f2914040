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
	count := 1
	for u := look(ctx, text, count); u.goesOn; {
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
		if count++; u.mayEndWith(line) {
			u = look(ctx, lines.String(), count)
		}
	}
	return lines.String(), nil
}

// isShell reports whether a line is for bash, and has something for it.
func isShell(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#' && !isDirective(line)
}

// isDirective reports whether a line is for the repl. A colon alone is a command
// of bash.
func isDirective(line string) bool {
	return len(line) > 1 && line[0] == ':' && !strings.ContainsRune(" \t;&|<>()", rune(line[1]))
}

// unfinished is what bash says of a command that goes on, and of what ends an
// open quote, bracket or here-document.
var unfinished = regexp.MustCompile("(?m)^bash: (?:line \\d+: )?(?:syntax error: unexpected end of file|unexpected EOF while looking for (?:matching )?`(.+)'|unexpected token `EOF'|warning: here-document at line \\d+ delimited by end-of-file \\(wanted `(.+)'\\))")

// closing is what the last line of a compound command has.
var closing = regexp.MustCompile(`(^|[\s;&|)])(fi|done|esac|\}|\]\])($|[\s;&|<>)])|\)`)

// longText is a number of lines after which bash is not asked about each.
const longText = 50

// unfinishedText is what is known of a command that may go on.
type unfinishedText struct {
	goesOn   bool
	end      string // what is in every line that may end it; "" is in every line
	compound bool   // it takes one of closing
}

func (u unfinishedText) mayEndWith(line string) bool {
	return strings.Contains(line, u.end) && (!u.compound || closing.MatchString(line))
}

// look finds out whether bash would read on after so many lines. It runs nothing.
func look(ctx context.Context, text string, lines int) (u unfinishedText) {
	if rest := strings.TrimRight(text, `\`); (len(text)-len(rest))%2 == 1 {
		// In a comment a backslash is nothing, and neither is a quote in its place.
		if u.goesOn, _ = isUnfinished(ctx, text[:len(text)-1]+"'"); u.goesOn {
			return u
		}
	}
	if u.goesOn, u.end = isUnfinished(ctx, text); u.goesOn && u.end == "" && lines >= longText {
		u.compound, _ = isUnfinished(ctx, text+"\n:") // another command does not end it
	}
	return u
}

// isUnfinished reports whether bash finds that a text goes on, and what is in
// every line that may end it.
func isUnfinished(ctx context.Context, text string) (goesOn bool, end string) {
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

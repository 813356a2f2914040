package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"bashplugin/shared"
)

// notice tells a person at a shell that a command goes on as a job, and how to reach the job. next
// says what this program does meanwhile.
func notice(r *shared.Result, next string) {
	follow := "tail -f"
	for _, out := range []shared.Output{r.Stdout, r.Stderr} {
		if out.Path != "" {
			follow += " " + quote(out.Path)
		}
	}
	if follow == "tail -f" {
		follow = r.Stdout.PathError
	}
	fmt.Fprintf(os.Stderr, `[still running after %v, as job %d; %s]
[follow: %s]
[check:  ps -o pid,stat,etime,args -g %d]
[kill:   Ctrl-C here, or kill -TERM -- -%d elsewhere]
`, r.Duration.Round(time.Millisecond), r.PID, next, follow, r.PID, r.PID)
}

// show prints a stream of a Result, and says where the rest is. It adds end unless the text already
// ends with it.
func show(to io.Writer, out shared.Output, end string) {
	if out.Content == "" {
		return
	}
	fmt.Fprint(to, out.Content)
	if !strings.HasSuffix(out.Content, end) {
		fmt.Fprint(to, end)
	}
	if out.Truncated {
		fmt.Fprintf(os.Stderr, "[the last %d of %d lines; %s]\n", out.OutputLines, out.TotalLines, whereWhole(out))
	}
}

// whereWhole says which file has the whole output, or why none has.
func whereWhole(out shared.Output) string {
	switch {
	case out.Path == "":
		return out.PathError
	case out.PathError != "":
		return fmt.Sprintf("%s is incomplete: %s", quote(out.Path), out.PathError)
	}
	return "the whole output as text: " + quote(out.Path)
}

// outcome says briefly how a command ended, or that it runs.
func outcome(r *shared.Result) string {
	text, _, _ := strings.Cut(r.String(), "\n")
	return text
}

// oneLine fits a command into a line: shortened, without unprintable characters.
func oneLine(command string) string {
	words := strings.FieldsFunc(command, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
	text := []rune(strings.Join(words, " "))
	if len(text) > 60 {
		return string(text[:59]) + "…"
	}
	return string(text)
}

// quote quotes a path for a shell.
func quote(path string) string {
	quoted, _ := syntax.Quote(path, syntax.LangBash) // fails for NUL bytes only
	return quoted
}

// list joins names with commas.
func list[T ~string](names []T) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(names), "[]"), " ", ", ")
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

func (s *shell) chooseDialect(_ context.Context, args string) error {
	if args == "" {
		for _, d := range tool.Dialects() {
			mark := " "
			if d == s.dialect {
				mark = "*"
			}
			fmt.Fprintf(s.out, "%s %s\n", mark, d)
		}
		return nil
	}
	var tools *tool.Toolset
	if args != "off" {
		var err error
		if tools, err = tool.New(tool.Dialect(args), movable{s.client, s}, tool.Options{}); err != nil {
			return err
		}
	}
	if s.tools != nil {
		_ = s.tools.Close()
	}
	if s.tools = tools; tools == nil {
		s.dialect = ""
	} else {
		s.dialect = tool.Dialect(args)
	}
	return nil
}

// movable is a Bash whose commands start where :cd says.
type movable struct {
	shared.Bash
	shell *shell
}

// Execute implements shared.Bash.
func (m movable) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	req.Dir = m.shell.dir
	return m.Bash.Execute(ctx, req)
}

// callBash runs a command through the dialect.
func (s *shell) callBash(ctx context.Context, command string) error {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	return s.answer(ctx, tool.Call{Name: "bash", Arguments: args})
}

func (s *shell) call(ctx context.Context, args string) error {
	if s.tools == nil {
		return errors.New("choose a dialect first: :dialect lists them")
	}
	name, arguments, _ := strings.Cut(args, " ")
	return s.answer(ctx, tool.Call{Name: name, Arguments: json.RawMessage(arguments)})
}

// pressInCall ends a call with Ctrl-C. What happens to a command that goes on is
// the dialect's to say, so that there is no other way to the background.
func (s *shell) pressInCall(_ context.Context, k key, stop func()) {
	if k == keyDetach {
		fmt.Fprintln(s.notes(), "[with a dialect a command cannot be detached: it goes on; Ctrl-C ends it]")
		return
	}
	stop()
}

// notes is where lines go that no command has written, while one runs.
func (s *shell) notes() io.Writer {
	if log := s.console.log(); log != nil {
		return log
	}
	return s.err
}

// answer prints what the model would get. Ctrl-C cancels the call.
func (s *shell) answer(ctx context.Context, c tool.Call) error {
	var a tool.Answer
	c.Live = s.console.counter()
	ahead := s.console.begin(true)
	_, _ = s.attend(ctx, ahead, func(ctx context.Context) (*shared.Result, error) {
		a = s.tools.Call(ctx, c)
		return nil, nil
	}, s.pressInCall)
	s.console.end()
	s.note(a.Result)
	fmt.Fprintln(s.out, strings.TrimSuffix(a.Text, "\n"))
	s.exitCode = 0
	if a.IsError {
		s.exitCode = 1
		fmt.Fprintln(s.err, "[the model is told that this is an error]")
	}
	return nil
}

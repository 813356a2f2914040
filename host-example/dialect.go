package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

func (s *shell) chooseDialect(_ context.Context, args string) error {
	var tools *tool.Toolset
	prompt := plainPrompt
	if args != "off" {
		var err error
		if tools, err = tool.New(tool.Dialect(args), movable{s.client, s}, tool.Options{Env: s.env}); err != nil {
			return err
		}
		prompt = fmt.Sprintf("bash (%s)> ", args)
	}
	if s.tools != nil {
		_ = s.tools.Close()
	}
	s.tools, s.prompt = tools, prompt
	return nil
}

// movable is a Bash whose commands start in the directory that :cd set, unless the
// request names another.
type movable struct {
	shared.Bash
	shell *shell
}

// Execute implements shared.Bash.
func (m movable) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	if !filepath.IsAbs(req.Dir) {
		req.Dir = filepath.Join(m.shell.dir, req.Dir)
	}
	return m.Bash.Execute(ctx, req)
}

// callBash runs a command through the dialect.
func (s *shell) callBash(ctx context.Context, command string) error {
	first := s.tools.Definitions()[0].Name
	name := cmp.Or(map[string]string{"exec_command": "cmd"}[first], "command")
	args, _ := json.Marshal(map[string]string{name: command}) // cannot fail
	return s.call(ctx, first+" "+string(args))
}

// call prints the answer that the model would get. Ctrl-C cancels the call; Ctrl-Z
// does nothing, because a dialect has its own way to the background.
func (s *shell) call(ctx context.Context, args string) error {
	if s.tools == nil {
		return errors.New("choose a dialect first: :dialect lists them")
	}
	name, arguments, _ := strings.Cut(args, " ")
	var a tool.Answer
	_, _ = s.attend(ctx, func(ctx context.Context) (*shared.Result, error) {
		a = s.tools.Call(ctx, tool.Call{Name: name, Arguments: json.RawMessage(arguments)})
		return nil, nil
	}, onInterrupt)
	fmt.Println(strings.TrimSuffix(a.Text, "\n"))
	s.exitCode = 0
	if a.IsError {
		s.exitCode = 1
		fmt.Fprintln(os.Stderr, "[for the model this is an error]")
	}
	return nil
}

package main

import (
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
		chosen, err := tool.New(tool.Dialect(args), movable{s.bash, s}, tool.Options{Env: s.env})
		if err != nil {
			return err
		}
		tools = chosen
		prompt = fmt.Sprintf("bash (%s)> ", args)
	}
	if s.tools != nil {
		_ = s.tools.Close()
	}
	s.tools = tools
	s.prompt = prompt
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
	argument := "command"
	if first == "exec_command" { // of Codex
		argument = "cmd"
	}
	args, _ := json.Marshal(map[string]string{argument: command}) // cannot fail
	return s.call(ctx, first+" "+string(args))
}

// call prints the answer that the model would get. Ctrl-C cancels the call; Ctrl-Z
// does nothing, because a dialect has its own way to the background.
func (s *shell) call(ctx context.Context, args string) error {
	if s.tools == nil {
		return errors.New("choose a dialect first: :dialect lists them")
	}
	name, arguments, _ := strings.Cut(args, " ")
	var answer tool.Answer
	call := func(ctx context.Context) (*shared.Result, error) {
		answer = s.tools.Call(ctx, tool.Call{Name: name, Arguments: json.RawMessage(arguments)})
		return nil, nil
	}
	_, _ = s.attend(ctx, call, onInterrupt)
	fmt.Println(strings.TrimSuffix(answer.Text, "\n"))
	s.exitCode = 0
	if answer.IsError {
		s.exitCode = 1
		fmt.Fprintln(os.Stderr, "[for the model this is an error]")
	}
	return nil
}

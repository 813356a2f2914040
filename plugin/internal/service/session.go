package service

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/executor"
	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

// localSession is the Bash for the host that started this process. It begins with the host's settings, which
// come when the host connects.
type localSession struct {
	begin func(shared.SessionConfig) (*executor.Executor, error)

	mu       sync.Mutex           // held while the session begins; guards settings
	settings shared.SessionConfig // of the session
	executor atomic.Pointer[executor.Executor]
}

// Configure implements serve.Configurer.
func (s *localSession) Configure(settings shared.SessionConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.executor.Load() != nil { // the host has dispensed once more
		if reflect.DeepEqual(settings, s.settings) || reflect.DeepEqual(settings, shared.SessionConfig{}) {
			return nil
		}
		return &shared.Error{Code: shared.CodeStart, Message: "the session has begun with other settings"}
	}
	e, err := s.begin(settings)
	if err != nil {
		return err
	}
	s.settings = settings
	s.executor.Store(e)
	return nil
}

var errNoSession = errors.New("the session has not begun")

// Execute implements shared.Bash.
func (s *localSession) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	e := s.executor.Load()
	if e == nil {
		return nil, errNoSession
	}
	return e.Execute(ctx, req)
}

// Check implements shared.Bash.
func (s *localSession) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	e := s.executor.Load()
	if e == nil {
		return nil, errNoSession
	}
	return e.Check(ctx, req)
}

// Kill implements shared.Bash.
func (s *localSession) Kill(ctx context.Context, req shared.KillRequest) (*shared.Result, error) {
	e := s.executor.Load()
	if e == nil {
		return nil, errNoSession
	}
	return e.Kill(ctx, req)
}

// Unseen is Executor.Unseen.
func (s *localSession) Unseen(result *shared.Result) {
	e := s.executor.Load()
	if e != nil {
		e.Unseen(result)
	}
}

// Close ends the session, if it has begun.
func (s *localSession) Close() error {
	e := s.executor.Load()
	if e == nil {
		return nil
	}
	return e.Close()
}

// within returns the configuration of an executor for a session: cfg, with what its host asks for.
func within(cfg executor.Config, session shared.SessionConfig) (executor.Config, error) {
	err := session.Validate()
	if err != nil {
		return cfg, err
	}
	cfg.Dir = cmp.Or(session.Dir, cfg.Dir)
	cfg.Env = slices.Concat(cfg.Env, session.Env)
	cfg.DropEnv = slices.Concat(cfg.DropEnv, session.DropEnv)
	err = confine.Within(session.Confine, cfg.Confine)
	if err != nil {
		return cfg, err
	}
	cfg.Confine = append(slices.Clone(cfg.Confine), session.Confine)
	cfg.Resources, err = session.Resources.Within(cfg.Resources)
	return cfg, err
}

// logsOf returns where a session keeps its logs. Settings of its host override the flags.
func logsOf(flags output.LogsConfig, session shared.SessionConfig) output.LogsConfig {
	logs := flags
	logs.Dir = cmp.Or(session.LogDir, logs.Dir)
	logs.MaxBytes = cmp.Or(session.MaxLogBytes, logs.MaxBytes)
	logs.MaxSessionBytes = cmp.Or(session.MaxSessionLogBytes, logs.MaxSessionBytes)
	logs.MaxUserBytes = cmp.Or(session.MaxUserLogBytes, logs.MaxUserBytes)
	logs.Retention = cmp.Or(session.LogRetention, logs.Retention)
	logs.Folder = output.NewFolder(logs.Dir)
	return logs
}

// openRemote makes the executor of the session of a host on another machine.
func openRemote(cfg executor.Config, session shared.SessionConfig) (shared.Bash, error) {
	for field, asked := range map[string]bool{
		"LogDir":             session.LogDir != "",
		"MaxLogBytes":        session.MaxLogBytes != 0,
		"MaxSessionLogBytes": session.MaxSessionLogBytes != 0,
		"MaxUserLogBytes":    session.MaxUserLogBytes != 0,
		"LogRetention":       session.LogRetention != 0,
	} {
		if asked {
			message := "the logs of a plugin on another machine are set by its own flags: leave " + field + " out"
			return nil, &shared.Error{Code: shared.CodeStart, Message: message, Field: field}
		}
	}
	dir, err := filepath.Abs(cmp.Or(session.Dir, cfg.Dir))
	if err != nil {
		return nil, err
	}
	session.Confine, err = session.Confine.Resolve(dir)
	if err != nil {
		return nil, err
	}
	cfg, err = within(cfg, session)
	if err != nil {
		return nil, err
	}
	cfg.Logger = cfg.Logger.With("host", session.Host)
	return executor.New(cfg)
}

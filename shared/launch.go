package shared

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/muxconn"
)

// Launch starts the plugin and returns a Client, which Close must end. The
// connection is authenticated both ways; bash-plugin's socket is in a folder that
// only this user may enter. An error says what is wrong with the plugin and what to
// do; it matches ErrStart, or ErrInvalid where the configuration is to blame,
// or is ctx.Err(). ctx bounds the start, not the Client's life.
func Launch(ctx context.Context, cfg LaunchConfig) (*Client, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return open(ctx, cfg.reach)
}

// reach starts a plugin, or connects to the one that the environment names.
func (cfg *LaunchConfig) reach(ctx context.Context) (*link, error) {
	running, err := reattachment()
	switch {
	case err != nil:
		return nil, err
	case running != nil:
		return cfg.attach(ctx, running)
	}
	return cfg.launch(ctx)
}

// launch starts a plugin process and connects to it, unless ctx ends before.
func (cfg *LaunchConfig) launch(ctx context.Context) (*link, error) {
	start, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	l, err := cfg.start(start)
	var failed *instance.Error
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case start.Err() != nil:
		return nil, launchError("StartTimeout", err, "%s did not get ready within %v: it is not a plugin, or the machine is overloaded and the plugin needs more time", cfg.Path, cfg.StartTimeout)
	case errors.As(err, &failed):
		return nil, launchError(failed.Field, failed.Cause, "%s", failed.Message)
	}
	return nil, launchError("Path", err, "cannot start the plugin %s: %v", cfg.Path, err)
}

func (cfg *LaunchConfig) start(ctx context.Context) (*link, error) {
	plugin, err := instance.Start(ctx, instance.Config{
		Path:      cfg.Path,
		SHA256:    cfg.SHA256,
		Args:      cfg.args(),
		Env:       cfg.env(),
		Handshake: Handshake,
		Plugins:   Plugins,
		Logger:    cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial(plugin.Addr.Network(), plugin.Addr.String())
	if err != nil {
		plugin.Abandon()
		return nil, err
	}
	l, err := newLink(ctx, muxconn.Client(conn, plugin.TLS), instance.NewLog(cfg.Logger.Named(filepath.Base(cfg.Path))))
	if err != nil {
		plugin.Abandon()
		return nil, err
	}
	l.instance, l.pid = plugin, plugin.PID()
	l.bash.(*client).stopped = func() bool { return instance.IsStopped(l.pid) }
	return l, nil
}

// causedError is an Error that keeps its cause.
type causedError struct {
	err   *Error
	cause error
}

func (e *causedError) Error() string   { return e.err.Message }
func (e *causedError) Unwrap() []error { return []error{e.err, e.cause} }

// launchError says why a plugin cannot be reached. field is of LaunchConfig.
func launchError(field string, cause error, format string, args ...any) error {
	e := &Error{Code: CodeStart, Message: fmt.Sprintf(format, args...), Field: field}
	if cause == nil {
		return e
	}
	return &causedError{e, cause}
}

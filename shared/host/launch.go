package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared"
	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/session"
)

// Launch starts the plugin and returns a Client, which the caller must Close. The
// connection is authenticated both ways; bash-plugin's socket is in a folder that
// only this user may enter. An error says what is wrong with the plugin and what to
// do; it is ctx.Err(), or matches ErrStart, or ErrInvalid if the configuration is
// wrong. ctx bounds the start, not the Client's life.
//
// A plugin runs on Linux and macOS. On other systems Launch fails, and Connect works.
func Launch(ctx context.Context, cfg LaunchConfig) (*Client, error) {
	if err := checkSystem(); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return open(ctx, cfg.reach)
}

// reach starts a plugin, or connects to the one that the environment names.
func (cfg *LaunchConfig) reach(ctx context.Context) (*link, error) {
	running, err := parseReattach(os.Getenv(ReattachName))
	switch {
	case err != nil:
		return nil, err
	case running != nil:
		return cfg.attach(ctx, running)
	}
	return cfg.launch(ctx)
}

// launch starts a plugin process and connects to it, unless ctx ends first.
func (cfg *LaunchConfig) launch(ctx context.Context) (*link, error) {
	if err := cfg.checkBinary(); err != nil {
		return nil, err
	}
	logger := cfg.Logger.Named(filepath.Base(cfg.Path))
	stderr := instance.NewLog(logger)
	start, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	l, err := cfg.start(start, stderr, instance.NewLog(logger))
	switch {
	case err == nil:
		cfg.Logger.Debug("started the plugin", "path", cfg.Path, "pid", l.id)
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case start.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return nil, launchError("StartTimeout", err, "%s did not get ready within %v: it is not a plugin, "+
			"or the machine is overloaded and the plugin needs more time", cfg.Path, cfg.StartTimeout)
	}
	return nil, cfg.explain(err, stderr.Says())
}

func (cfg *LaunchConfig) start(ctx context.Context, stderr, log *instance.Log) (*link, error) {
	process, err := instance.Start(ctx, instance.Config{
		Path:      cfg.Path,
		SHA256:    cfg.SHA256,
		Env:       cfg.env(),
		Handshake: shared.Handshake,
		Plugins:   shared.Plugins,
		Stderr:    stderr,
	})
	if err != nil {
		return nil, err
	}
	l := &link{id: process.PID, instance: process}
	l.session, l.bash, l.logs, err = shared.OpenSession(ctx, session.Config{
		Dial:    dial(process.Addr.Network(), process.Addr.String(), process.TLS),
		Log:     log,
		Stopped: func() bool { return instance.IsStopped(process.PID) },
	}, cfg.settings())
	if err != nil {
		process.Kill()
		process.AwaitEnd(instance.LastPatience)
		_, ours := errors.AsType[*shared.Error](err)
		if ours { // the plugin's own
			return nil, err
		}
		return nil, fmt.Errorf("cannot start the plugin %s: %w", cfg.Path, err)
	}
	return l, nil
}

// dial returns a function that connects to a plugin on this machine, with TLS if config is not nil.
func dial(network, address string, config *tls.Config) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		socket, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || config == nil {
			return socket, err
		}
		return tls.Client(socket, config), nil
	}
}

// checkBinary says why the plugin's file cannot be started.
func (cfg *LaunchConfig) checkBinary() error {
	info, err := os.Stat(cfg.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return launchError("Path", err, "there is no plugin at %s: build it, or name another", cfg.Path)
	case err != nil:
		return launchError("Path", err, "cannot look at the plugin: %v", err)
	case info.IsDir():
		return launchError("Path", nil, "%s is a directory: name the plugin's binary", cfg.Path)
	case info.Mode()&0o111 == 0:
		return launchError("Path", fs.ErrPermission, "%s is not executable: chmod +x it", cfg.Path)
	}
	return nil
}

// explain says what to do about a failed start. says is the first line of text on the
// plugin's stderr.
func (cfg *LaunchConfig) explain(err error, says string) error {
	ours, ok := errors.AsType[*shared.Error](err)
	if ok { // the plugin's own
		return ours
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = instance.Printable(text) // it may quote the output of a program that is not a plugin
	switch {
	case errors.Is(err, plugin.ErrChecksumsDoNotMatch):
		return launchError("SHA256", err, "%s has another checksum than expected: "+
			"the file was changed or is another version; it was not started", cfg.Path)
	case strings.Contains(text, "incompatible API version"):
		return launchError("Path", err,
			"%s speaks another version of the contract than this host, and %s", cfg.Path, older(text))
	case says != "":
		return launchError("Path", err,
			"%s cannot start, or is not a go-plugin plugin for this contract; it says: %s", cfg.Path, says)
	case strings.Contains(text, "Unrecognized remote plugin message"),
		strings.Contains(text, "parsing core protocol"),
		strings.Contains(text, "exited before"):
		return launchError("Path", err, "%s is not a go-plugin plugin for this contract: "+
			"it ended, or printed something else than the handshake (%s)", cfg.Path, text)
	}
	return launchError("Path", err, "%s", text)
}

// older says which side is older, by the text of go-plugin's error.
func older(text string) string {
	_, rest, _ := strings.Cut(text, "Plugin version: ")
	var plugin int
	_, err := fmt.Sscanf(rest, "%d", &plugin)
	if err != nil {
		return "it does not say which: build both from one version"
	}
	return shared.Older(plugin)
}

// launchError says why a plugin cannot be reached. field is a field of LaunchConfig.
func launchError(field string, cause error, format string, args ...any) error {
	e := &shared.Error{Code: shared.CodeStart, Message: fmt.Sprintf(format, args...), Field: field}
	return e.WithCause(cause)
}

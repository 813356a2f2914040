package shared

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
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
	c := &Client{cfg: cfg, jobs: newJobBook(), turn: make(chan struct{}, 1), closing: make(chan struct{})}
	if _, err := c.session(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// checkBinary says what is wrong with the plugin's file in terms of its user.
func (cfg *LaunchConfig) checkBinary() error {
	info, err := os.Stat(cfg.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return launchError(err, "there is no plugin at %s: build it, or set another LaunchConfig.Path", cfg.Path)
	case err != nil:
		return launchError(err, "cannot look at the plugin: %v", err)
	case info.IsDir():
		return launchError(nil, "%s is a directory: LaunchConfig.Path must name the plugin's binary", cfg.Path)
	case info.Mode()&0o111 == 0:
		return launchError(fs.ErrPermission, "%s is not executable: chmod +x it", cfg.Path)
	}
	return nil
}

// start starts one plugin process and connects to it, or connects to the one
// that the environment names, unless ctx ends or stop is closed before. With an
// error the session, if any, is one that is being ended.
func (cfg *LaunchConfig) start(ctx context.Context, stop <-chan struct{}) (*session, error) {
	running, err := reattachment()
	switch {
	case err != nil:
		return nil, err
	case running != nil:
		return cfg.attach(ctx, stop, running)
	}
	if err := cfg.checkBinary(); err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(life, cfg.Path, cfg.args()...)
	cmd.Env = cfg.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the host, and ends a plugin that just starts
	words := new(lastWords)
	log := &endingLog{Logger: cfg.Logger}
	config := &plugin.ClientConfig{
		HandshakeConfig:  Handshake,
		Plugins:          Plugins,
		Cmd:              cmd,
		SkipHostEnv:      true,
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolNetRPC},
		Logger:           log,
		StartTimeout:     cfg.StartTimeout,
		Stderr:           words,
	}
	if cfg.SHA256 != nil {
		config.SecureConfig = &plugin.SecureConfig{Checksum: cfg.SHA256, Hash: sha256.New()}
	}
	s := &session{plugin: plugin.NewClient(config), log: log, kill: kill, ended: make(chan struct{})}
	connected := make(chan error, 1)
	go func() { connected <- s.connect(config) }()
	late := time.NewTimer(cfg.StartTimeout)
	defer late.Stop()
	select {
	case err := <-connected:
		if err == nil {
			s.watch(cmd.Process.Pid)
			return s, nil
		}
		s.bury()
		isClosedWithin(s.ended, lastPatience)
		return s, cfg.explain(err, words.String())
	case <-ctx.Done():
		err = ctx.Err()
	case <-stop:
		err = errClientClosed()
	case <-late.C:
		err = cfg.notReady()
	}
	kill()
	go func() {
		cfg.Logger.Debug("gave up a start", "error", <-connected)
		s.bury()
	}()
	isClosedWithin(s.ended, lastPatience)
	return s, err
}

// lastPatience is how long a failed start waits for the process's end, and for
// what it says before.
const lastPatience = 500 * time.Millisecond

// explain tells a failed start in terms of what to do about it.
func (cfg *LaunchConfig) explain(err error, words string) error {
	text := err.Error()
	first := strings.Map(printable, strings.ToValidUTF8(firstLine(text), "")) // it may quote what is no plugin
	switch {
	case errors.Is(err, plugin.ErrChecksumsDoNotMatch):
		return launchError(err, "the checksum of %s is not LaunchConfig.SHA256: the file was changed or is another version; it was not started", cfg.Path)
	case strings.Contains(text, "incompatible API version"):
		return launchError(err, "%s speaks another version of the contract than this host (%d): build both from one version (%v)", cfg.Path, Handshake.ProtocolVersion, first)
	case strings.Contains(text, "timeout while waiting for plugin to start"):
		return cfg.notReady()
	case words != "" && strings.Contains(text, "Unrecognized remote plugin message"):
		return launchError(err, "%s cannot start, or is not a go-plugin plugin for this contract; it says: %s", cfg.Path, words)
	case strings.Contains(text, "Unrecognized remote plugin message"), strings.Contains(text, "error parsing core protocol version"), strings.Contains(text, "plugin exited before we could connect"):
		return launchError(err, "%s is not a go-plugin plugin for this contract: it ended, or printed something else than the handshake (%s)", cfg.Path, first)
	case strings.Contains(text, "unsupported plugin protocol"):
		return launchError(err, "%s is a plugin, but not over net/rpc: %v", cfg.Path, first)
	}
	return launchError(err, "cannot start the plugin %s: %v", cfg.Path, first)
}

func (cfg *LaunchConfig) notReady() error {
	return launchError(nil, "%s did not get ready within %v: it is not a plugin, or the machine is overloaded; LaunchConfig.StartTimeout sets the limit", cfg.Path, cfg.StartTimeout)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// causedError is an Error that keeps its cause.
type causedError struct {
	err   *Error
	cause error
}

func (e *causedError) Error() string   { return e.err.Message }
func (e *causedError) Unwrap() []error { return []error{e.err, e.cause} }

func launchError(cause error, format string, args ...any) error {
	e := &Error{CodeStart, fmt.Sprintf(format, args...)}
	if cause == nil {
		return e
	}
	return &causedError{e, cause}
}

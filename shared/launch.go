package shared

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// DefaultStartTimeout bounds the start of the plugin.
const DefaultStartTimeout = 10 * time.Second

// LaunchConfig says which plugin to load and how. Only Path is required.
type LaunchConfig struct {
	Path   string // of the plugin's binary
	SHA256 []byte // its checksum, verified before each start where given

	Dir     string   // where commands run; "": the host's working directory
	Env     []string // KEY=VALUE, over the host's environment
	DropEnv []string // names or globs ("*_API_KEY") that neither the plugin nor its commands get

	LogDir             string        // where output logs go; "": a private folder of the user below os.TempDir
	MaxLogBytes        int64         // of one stream's log; 0: 256 MiB
	MaxSessionLogBytes int64         // of all logs of this Client; 0: 2 GiB
	LogRetention       time.Duration // how long logs outlive the Client; 0: 24 h; negative: they go at Close

	Logger       hclog.Logger  // gets the plugin's log; nil: none
	StartTimeout time.Duration // 0: DefaultStartTimeout
}

// Launch starts the plugin and returns a Client, which Close must end. The
// connection is authenticated both ways, its socket is in a folder that only
// this user may enter. An error says what is wrong with the plugin and what to
// do; it matches ErrStart, or ErrInvalid where the configuration is to blame.
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

// complete checks the configuration and fills in what does not change between
// one start and the next.
func (cfg *LaunchConfig) complete() error {
	if cfg.Path == "" {
		return &Error{CodeInvalid, "LaunchConfig.Path is empty: give the path of the plugin's binary"}
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return launchError(err, "cannot find %s: %v", cfg.Path, err)
	}
	cfg.Path = path
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return launchError(err, "cannot find the working directory: %v", err)
	}
	if info, err := os.Stat(cfg.Dir); err != nil || !info.IsDir() {
		return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.Dir %q is not a directory that exists", cfg.Dir)}
	}
	if cfg.LogDir != "" {
		if cfg.LogDir, err = filepath.Abs(cfg.LogDir); err != nil {
			return launchError(err, "cannot find LaunchConfig.LogDir: %v", err)
		}
	}
	if n := len(cfg.SHA256); n != 0 && n != sha256.Size {
		return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.SHA256 has %d bytes: a SHA-256 checksum has %d", n, sha256.Size)}
	}
	if cfg.MaxLogBytes < 0 || cfg.MaxSessionLogBytes < 0 {
		return &Error{CodeInvalid, "LaunchConfig.MaxLogBytes and MaxSessionLogBytes must not be negative: use 0 for the defaults"}
	}
	if err := cfg.checkEnv(); err != nil {
		return err
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.StartTimeout < 0 {
		return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.StartTimeout is %v: use 0 for %v, or a positive duration", cfg.StartTimeout, DefaultStartTimeout)}
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = DefaultStartTimeout
	}
	return nil
}

func (cfg *LaunchConfig) checkEnv() error {
	for i, entry := range cfg.Env {
		if strings.IndexByte(entry, '=') <= 0 {
			return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.Env has %q: use KEY=VALUE", entry)}
		}
		if strings.IndexByte(entry, 0) >= 0 {
			return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.Env[%d] has a NUL byte: an environment cannot hold one", i)}
		}
	}
	for _, glob := range cfg.DropEnv {
		if _, err := filepath.Match(glob, ""); err != nil || strings.Contains(glob, ",") {
			return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.DropEnv has %q: use a variable's name or a glob", glob)}
		}
	}
	return nil
}

// args are the plugin's flags.
func (cfg *LaunchConfig) args() []string {
	args := []string{"-dir=" + cfg.Dir, "-log-level=" + cfg.logLevel()}
	if len(cfg.DropEnv) > 0 {
		args = append(args, "-drop-env="+strings.Join(cfg.DropEnv, ","))
	}
	if cfg.LogDir != "" {
		args = append(args, "-log-dir="+cfg.LogDir)
	}
	if cfg.MaxLogBytes != 0 {
		args = append(args, "-max-log-bytes="+strconv.FormatInt(cfg.MaxLogBytes, 10))
	}
	if cfg.MaxSessionLogBytes != 0 {
		args = append(args, "-max-session-log-bytes="+strconv.FormatInt(cfg.MaxSessionLogBytes, 10))
	}
	if cfg.LogRetention != 0 {
		args = append(args, "-log-retention="+cfg.LogRetention.String())
	}
	return args
}

func (cfg *LaunchConfig) logLevel() string {
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error} {
		if cfg.enabled(level) {
			return level.String()
		}
	}
	return hclog.Off.String()
}

func (cfg *LaunchConfig) enabled(level hclog.Level) bool {
	switch level {
	case hclog.Trace:
		return cfg.Logger.IsTrace()
	case hclog.Debug:
		return cfg.Logger.IsDebug()
	case hclog.Info:
		return cfg.Logger.IsInfo()
	case hclog.Warn:
		return cfg.Logger.IsWarn()
	}
	return cfg.Logger.IsError()
}

// env is the plugin's environment.
func (cfg *LaunchConfig) env() []string {
	env := append(os.Environ(), cfg.Env...)
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(cfg.DropEnv, func(glob string) bool {
			match, _ := filepath.Match(glob, name)
			return match
		})
	})
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
// that the environment names, unless ctx ends or stop is closed before.
func (cfg *LaunchConfig) start(ctx context.Context, stop <-chan struct{}) (*session, error) {
	running, err := reattachment()
	switch {
	case err != nil:
		return nil, err
	case running != nil:
		return cfg.attach(ctx, running)
	}
	if err := cfg.checkBinary(); err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(life, cfg.Path, cfg.args()...)
	cmd.Env = cfg.env()
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
	select {
	case err := <-connected:
		if err == nil {
			s.watch(cmd.Process.Pid)
			return s, nil
		}
		s.bury()
		isClosedWithin(s.ended, lastPatience)
		return nil, cfg.explain(err, words.String())
	case <-ctx.Done():
		err = ctx.Err()
	case <-stop:
		err = errClientClosed()
	}
	kill()
	go func() {
		cfg.Logger.Debug("gave up a start", "error", <-connected)
		s.bury()
	}()
	isClosedWithin(s.ended, lastPatience)
	return nil, err
}

// lastPatience is how long a failed start waits for the process's end, and for
// what it says before.
const lastPatience = 500 * time.Millisecond

// explain tells a failed start in terms of what to do about it.
func (cfg *LaunchConfig) explain(err error, words string) error {
	text := err.Error()
	switch {
	case errors.Is(err, plugin.ErrChecksumsDoNotMatch):
		return launchError(err, "the checksum of %s is not LaunchConfig.SHA256: the file was changed or is another version; it was not started", cfg.Path)
	case strings.Contains(text, "incompatible API version"):
		return launchError(err, "%s speaks another version of the contract than this host (%d): build both from one version (%v)", cfg.Path, Handshake.ProtocolVersion, firstLine(text))
	case strings.Contains(text, "timeout while waiting for plugin to start"):
		return launchError(err, "%s did not get ready within %v: it is not a plugin, or the machine is overloaded; LaunchConfig.StartTimeout sets the limit", cfg.Path, cfg.StartTimeout)
	case words != "" && strings.Contains(text, "Unrecognized remote plugin message"):
		return launchError(err, "%s cannot start, or is not a go-plugin plugin for this contract; it says: %s", cfg.Path, words)
	case strings.Contains(text, "Unrecognized remote plugin message"), strings.Contains(text, "error parsing core protocol version"), strings.Contains(text, "plugin exited before we could connect"):
		return launchError(err, "%s is not a go-plugin plugin for this contract: it ended, or printed something else than the handshake (%s)", cfg.Path, firstLine(text))
	case strings.Contains(text, "unsupported plugin protocol"):
		return launchError(err, "%s is a plugin, but not over net/rpc: %v", cfg.Path, firstLine(text))
	}
	return launchError(err, "cannot start the plugin %s: %v", cfg.Path, firstLine(text))
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

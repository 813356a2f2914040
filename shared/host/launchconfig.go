package host

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/shared"
)

// DefaultStartTimeout bounds the start of the plugin.
const DefaultStartTimeout = 10 * time.Second

// LaunchConfig says which plugin to load and how. Only Path is required.
type LaunchConfig struct {
	Path string // of the plugin's binary

	// SHA256 is the binary's checksum, verified before each start; nil: it is not verified. That of a
	// plugin that BASH_PLUGIN_REATTACH names is never verified.
	SHA256 []byte

	// Dir is where commands run. "": in the host's working directory.
	Dir string

	Env []string // KEY=VALUE, over the host's environment

	// DropEnv has names or path.Match patterns ("*_API_KEY") of variables that neither the plugin nor
	// its commands get.
	DropEnv []string

	// Confine says what every command may touch, and the most that a request may allow; nil:
	// everything. Relative paths begin at Dir.
	Confine *shared.Confine

	// Resources says what each command may use, and the most that a request may allow.
	Resources shared.Resources

	// LogDir is where output logs go. "": in a private folder of the user below os.TempDir.
	LogDir string

	MaxLogBytes int64 // of one stream's log; 0: 256 MiB

	// MaxSessionLogBytes is the limit of all logs of this Client that are not removed; 0: 2 GiB.
	MaxSessionLogBytes int64

	// MaxUserLogBytes is the limit of the logs of all sessions of this user in LogDir together; 0:
	// 4 GiB. The oldest ended session's logs are removed first.
	MaxUserLogBytes int64

	// LogRetention is how long logs outlive the Client; 0: 24 h. If it is negative, logs are
	// removed at Close, and those of a plugin that crashes at once.
	LogRetention time.Duration

	Logger       hclog.Logger  // gets the plugin's log; nil: none
	StartTimeout time.Duration // 0: DefaultStartTimeout
}

// complete checks the configuration and fills in the values that are the same at
// every start.
func (cfg *LaunchConfig) complete() error {
	if err := cfg.completePaths(); err != nil {
		return err
	}
	settings := cfg.settings()
	settings.Env = cfg.Env // these two become the plugin's own environment
	settings.DropEnv = cfg.DropEnv
	if err := settings.Validate(); err != nil {
		return err
	}
	switch {
	case cfg.SHA256 != nil && len(cfg.SHA256) != sha256.Size:
		return invalid("SHA256", "the checksum has %d bytes: a SHA-256 checksum has %d", len(cfg.SHA256), sha256.Size)
	case cfg.StartTimeout < 0:
		return invalid("StartTimeout",
			"the start timeout is %v: use 0 for %v, or a positive duration", cfg.StartTimeout, DefaultStartTimeout)
	}
	cfg.StartTimeout = cmp.Or(cfg.StartTimeout, DefaultStartTimeout)
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	return nil
}

// completePaths makes the paths absolute: the host's directory may change.
func (cfg *LaunchConfig) completePaths() (err error) {
	if cfg.Path == "" {
		return invalid("Path", "no plugin is named: give the path of the plugin's binary")
	}
	if cfg.Path, err = filepath.Abs(cfg.Path); err != nil {
		return launchError("Path", err, "cannot find the plugin: %v", err)
	}
	if cfg.LogDir != "" {
		if cfg.LogDir, err = filepath.Abs(cfg.LogDir); err != nil {
			return launchError("LogDir", err, "cannot find the folder for logs: %v", err)
		}
	}
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return launchError("Dir", err, "cannot find the working directory: %v", err)
	}
	if _, err := os.Stat(cfg.Dir + string(filepath.Separator)); err != nil {
		return invalid("Dir", "cannot use the working directory: %v", err)
	}
	if cfg.Confine != nil { // now, because commands may put links in the place of what they may change
		resolved, err := cfg.Confine.Resolve(cfg.Dir)
		cfg.Confine = &resolved
		return err
	}
	return nil
}

// invalid says which field of a configuration is wrong, and why.
func invalid(field, format string, args ...any) error {
	return &shared.Error{Code: shared.CodeInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// settings are what the plugin is to keep.
func (cfg *LaunchConfig) settings() shared.SessionConfig {
	settings := shared.SessionConfig{
		Dir:                cfg.Dir,
		Resources:          cfg.Resources,
		LogDir:             cfg.LogDir,
		MaxLogBytes:        cfg.MaxLogBytes,
		MaxSessionLogBytes: cfg.MaxSessionLogBytes,
		MaxUserLogBytes:    cfg.MaxUserLogBytes,
		LogRetention:       cfg.LogRetention,
	}
	if cfg.Confine != nil {
		settings.Confine = *cfg.Confine
	}
	return settings
}

// env is the plugin's environment.
func (cfg *LaunchConfig) env() []string {
	level := cfg.Logger.GetLevel()
	if level == hclog.NoLevel { // a logger that drops everything
		level = hclog.Off
	}
	env := append(os.Environ(), cfg.Env...)
	env = append(env, "BASH_PLUGIN_LOG_LEVEL="+level.String())
	return shared.DropEnv(env, cfg.DropEnv)
}

package shared

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// DefaultStartTimeout bounds the start of the plugin.
const DefaultStartTimeout = 10 * time.Second

// LaunchConfig says which plugin to load and how. Only Path is required.
type LaunchConfig struct {
	Path   string // of the plugin's binary
	SHA256 []byte // its checksum, verified before each start; nil: none. A plugin that BASH_PLUGIN_REATTACH names is not checked

	Dir     string   // where commands run; "": the host's working directory
	Env     []string // KEY=VALUE, over the host's environment
	DropEnv []string // names or path.Match patterns ("*_API_KEY") that neither the plugin nor its commands get

	LogDir             string        // where output logs go; "": a private folder of the user below os.TempDir
	MaxLogBytes        int64         // of one stream's log; 0: 256 MiB
	MaxSessionLogBytes int64         // of all logs of this Client that are not removed; live copies on disk get up to 3/4; 0: 2 GiB
	LogRetention       time.Duration // how long logs outlive the Client; 0: 24 h; negative: they go at Close, those of a plugin that crashes at once

	Logger       hclog.Logger  // gets the plugin's log; nil: none
	StartTimeout time.Duration // 0: DefaultStartTimeout
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
	switch info, err := os.Stat(cfg.Dir); {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return launchError(err, "cannot look at LaunchConfig.Dir: %v", err)
	case err != nil || !info.IsDir():
		return &Error{CodeInvalid, fmt.Sprintf("LaunchConfig.Dir %q is not a directory that exists", cfg.Dir)}
	}
	if cfg.LogDir != "" {
		if cfg.LogDir, err = filepath.Abs(cfg.LogDir); err != nil {
			return launchError(err, "cannot find LaunchConfig.LogDir: %v", err)
		}
	}
	if n := len(cfg.SHA256); cfg.SHA256 != nil && n != sha256.Size {
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

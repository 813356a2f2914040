package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/shared"
)

// launchFlags are the flags of every subcommand that loads the plugin: which
// one, and how.
type launchFlags struct {
	plugin       string
	dir          string
	startTimeout time.Duration
	logLevel     string
	log          io.Writer // nil: stderr
}

func (f *launchFlags) register(set *flag.FlagSet) {
	set.StringVar(&f.plugin, "plugin", "", "path of the plugin (default bash-plugin beside this program)")
	set.StringVar(&f.dir, "dir", "", "directory that commands run in (default the working directory)")
	set.DurationVar(&f.startTimeout, "start-timeout", shared.DefaultStartTimeout, "how long the plugin may take to get ready")
	set.StringVar(&f.logLevel, "log-level", "", "log of host and plugin on stderr: trace, debug, info, warn, error or off (default $BASH_PLUGIN_LOG_LEVEL, else off)")
}

// launch loads the plugin.
func (f *launchFlags) launch(ctx context.Context) (*shared.Client, error) {
	path := f.plugin
	if path == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("cannot find the plugin: %w; use -plugin PATH", err)
		}
		path = filepath.Join(filepath.Dir(program), "bash-plugin")
	}
	logger, err := f.logger()
	if err != nil {
		return nil, err
	}
	return shared.Launch(ctx, shared.LaunchConfig{Path: path, Dir: f.dir, StartTimeout: f.startTimeout, Logger: logger})
}

// logLevelName is the environment variable for where -log-level is not given.
const logLevelName = "BASH_PLUGIN_LOG_LEVEL"

// logger returns nil where no log is asked for.
func (f *launchFlags) logger() (hclog.Logger, error) {
	level, from := f.logLevel, "-log-level"
	if level == "" {
		level, from = os.Getenv(logLevelName), logLevelName
	}
	if level == "" || level == "off" {
		return nil, nil
	}
	if hclog.LevelFromString(level) == hclog.NoLevel {
		return nil, fmt.Errorf("%s is %q: use trace, debug, info, warn, error or off", from, level)
	}
	log := f.log
	if log == nil {
		log = os.Stderr
	}
	return hclog.New(&hclog.LoggerOptions{Name: "host", Level: hclog.LevelFromString(level), Output: log}), nil
}

// parseFlags parses the arguments of a subcommand that takes nothing but flags.
func parseFlags(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return quietly(err)
	}
	if set.NArg() > 0 {
		set.Usage()
		return fmt.Errorf("%s takes no argument, got %q", set.Name(), set.Arg(0))
	}
	return nil
}

// quietly is for an error that the flag set has printed already.
func quietly(err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return errors.New("see -help")
}

// newFlagSet returns a set that prints its usage and its errors to stderr.
func newFlagSet(name, args, about string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprintf(set.Output(), "host-example %s %s\n\n%s\n\n", name, args, about)
		set.PrintDefaults()
	}
	return set
}

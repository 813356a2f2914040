package main

import (
	"cmp"
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
	"bashplugin/shared/host"
)

// parse parses the arguments of a subcommand. With -help it prints the flags on
// stdout.
func parse(set *flag.FlagSet, args []string) error {
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(os.Stdout)
		usage(os.Stdout, set.Name())
		set.PrintDefaults()
	case err == nil && set.NArg() > 0 && set.Name() != "run":
		return fmt.Errorf("%s takes no argument, got %q", set.Name(), set.Arg(0))
	}
	return err
}

// launchFlags are the flags of every subcommand that loads the plugin.
type launchFlags struct {
	host.LaunchConfig
	env      []string // for each command; they override all others
	logLevel string

	// If connect has an Address, it names a plugin on another machine. cert, key and ca are the
	// files for TLS with it.
	connect host.ConnectConfig
	cert    string
	key     string
	ca      string

	serverName string // in the plugin's certificate
	policy     policyFlags
	set        *flag.FlagSet
}

func newFlagSet(name string) (*flag.FlagSet, *launchFlags) {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	f := &launchFlags{set: set}
	set.StringVar(&f.Path, "plugin", "", "path of the plugin (default bash-plugin beside this program)")
	set.StringVar(&f.Dir, "dir", "", "directory where commands run (default the working directory)")
	set.Func("env", "`KEY=VALUE` for the commands; it overrides this program's environment, -drop-env "+
		"and the tool's own settings; may be given several times", f.addEnv)
	set.Func("drop-env", "`NAME` or pattern (*_API_KEY) of variables that the commands do not get; "+
		"may be given several times", appendTo(&f.DropEnv))
	set.StringVar(&f.LogDir, "log-dir", "", "folder of the output logs (default a private one of the user)")
	set.DurationVar(&f.LogRetention, "log-retention", 0,
		"how long the logs stay after this program has ended; negative: not at all (default 24h)")
	set.DurationVar(&f.StartTimeout, "start-timeout", host.DefaultStartTimeout,
		"how long the plugin may take to get ready")
	set.StringVar(&f.logLevel, "log-level", cmp.Or(os.Getenv("BASH_PLUGIN_LOG_LEVEL"), "off"),
		"log of host and plugin on stderr: trace, debug, info, warn, error or off")
	f.Confine = new(shared.Confine)
	confineFlags(set, f.Confine)
	resourceFlags(set, &f.Resources)
	if name != "demo" { // the demo looks at the plugin's processes and files
		f.addConnectFlags(set)
		f.policy.add(set)
	}
	return set, f
}

func (f *launchFlags) addConnectFlags(set *flag.FlagSet) {
	set.StringVar(&f.connect.Address, "connect", "",
		"`HOST:PORT` of a plugin that serves there (bash-plugin -listen), to use instead of starting one")
	set.DurationVar(&f.connect.Linger, "linger", time.Minute,
		"how long commands outlive a lost connection, for -connect")
	set.StringVar(&f.cert, "tls-cert", "", "`file` with this host's certificate, for -connect")
	set.StringVar(&f.key, "tls-key", "", "`file` with its key")
	set.StringVar(&f.serverName, "tls-server-name", "",
		"name in the plugin's certificate (default the host of -connect)")
	set.StringVar(&f.ca, "tls-ca", "", "`file` with the certificate of the CA that signed the plugin's")
}

func (f *launchFlags) addEnv(entry string) error {
	err := shared.SessionConfig{Env: []string{entry}}.Validate()
	if err != nil {
		return err
	}
	f.env = append(f.env, entry)
	return nil
}

func appendTo(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}

// with loads the plugin, calls do, and closes the plugin. A signal ends do's context;
// then the exit code is 128 plus the signal, as in a shell.
func (f *launchFlags) with(do func(context.Context, *host.Client) (exitCode int, err error)) (int, error) {
	ctx, stop := interruptible()
	defer stop()
	client, err := f.launch(ctx)
	code := 1
	if err == nil {
		code, err = do(ctx, client)
		err = cmp.Or(err, client.Close())
	}
	var s stopped
	switch {
	case errors.As(context.Cause(ctx), &s):
		return 128 + int(s), nil
	case err != nil:
		return 1, err
	}
	return code, nil
}

// launch loads the plugin, or connects to one. It also makes Dir absolute, for later use.
func (f *launchFlags) launch(ctx context.Context) (*host.Client, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	level := hclog.LevelFromString(f.logLevel)
	if level == hclog.NoLevel {
		return nil, misused("-log-level (or $BASH_PLUGIN_LOG_LEVEL) is %q: "+
			"use trace, debug, info, warn, error or off", f.logLevel)
	}
	f.Logger = hclog.New(&hclog.LoggerOptions{Name: "host", Level: level, Output: os.Stderr})
	if f.connect.Address != "" {
		return f.connectTo(ctx)
	}
	f.Dir, err = filepath.Abs(f.Dir)
	if err != nil {
		return nil, err
	}
	f.Path = cmp.Or(f.Path, filepath.Join(filepath.Dir(program), "bash-plugin"))
	return host.Launch(ctx, f.LaunchConfig)
}

func (f *launchFlags) connectTo(ctx context.Context) (_ *host.Client, err error) {
	f.set.Visit(func(given *flag.Flag) {
		switch given.Name {
		case "plugin", "log-dir", "log-retention":
			err = misused("-%s is for a plugin that this program starts: leave it out with -connect", given.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	f.connect.Confine = f.Confine
	f.connect.Resources = f.Resources
	f.connect.Dir = f.Dir
	f.connect.DropEnv = f.DropEnv
	f.connect.Logger = f.Logger
	f.connect.ConnectTimeout = f.StartTimeout
	f.connect.TLS, err = host.LoadTLS(f.cert, f.key, f.ca)
	if err != nil {
		return nil, misused("%v", err)
	}
	f.connect.TLS.ServerName = f.serverName
	return host.Connect(ctx, f.connect)
}

// misused is the error for flags that cannot be used.
func misused(format string, args ...any) error {
	return &shared.Error{Code: shared.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

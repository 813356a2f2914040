package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

// flags are the command line. The zero value of each means its default.
type flags struct {
	dir       string
	dropEnv   []string
	confine   shared.Confine
	resources shared.Resources
	logs      output.LogsConfig
	logLevel  string
	debug     bool
	version   bool
	help      bool
	remote    remoteFlags
}

// remoteFlags are the flags about hosts on other machines. Without listen this process serves
// none.
type remoteFlags struct {
	listen    string
	health    string
	cert      string
	key       string
	clientCA  string
	maxLinger time.Duration
	drain     time.Duration
}

const about = `bash-plugin runs shell commands for a host program: the bash tool of an agent.

It is a plugin (hashicorp/go-plugin over net/rpc) and does nothing by itself.
Load it from Go:

    client, err := host.Launch(ctx, host.LaunchConfig{Path: "bin/bash-plugin"})

or try it with the host beside it:

    host-example run -- 'echo hello'

With -debug it serves by itself, for a host that is started later; with -listen it
serves hosts on other machines, with certificates that this command makes:

    bash-plugin certs DIR [NAME or IP of the plugin's machine …]

Flags:
`

func flagSet(f *flags) *flag.FlagSet {
	set := flag.NewFlagSet("bash-plugin", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.dir, "dir", "", "directory where commands run (default the working directory)")
	set.Func("drop-env",
		"environment variables that commands do not get: names or globs, separated by commas", f.dropsEnv)
	set.Func("confine", "what commands may touch: a shared.Confine in JSON; "+
		"with -listen and -debug, relative paths begin at -dir", fill(&f.confine))
	set.Func("resources", "what each command may use: a shared.Resources in JSON, "+
		`as in {"Memory": "2GiB", "CPU": "10m", "Processes": 200, "Disk": "1GiB"}`, fill(&f.resources))
	set.StringVar(&f.logLevel, "log-level", cmp.Or(os.Getenv("BASH_PLUGIN_LOG_LEVEL"), "info"),
		"trace, debug, info, warn, error or off; $BASH_PLUGIN_LOG_LEVEL changes the default")
	set.BoolVar(&f.debug, "debug", false,
		"serve until stopped, for use with a debugger, and print how a host connects")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	addLogFlags(set, &f.logs)
	addRemoteFlags(set, &f.remote)
	return set
}

func addLogFlags(set *flag.FlagSet, logs *output.LogsConfig) {
	set.StringVar(&logs.Dir, "log-dir", "",
		fmt.Sprintf("folder for the logs of long output (default %s)", output.DefaultLogDir()))
	set.Int64Var(&logs.MaxBytes, "max-log-bytes", 0,
		fmt.Sprintf("largest log of one stream (default %d)", int64(output.DefaultMaxLogBytes)))
	set.Int64Var(&logs.MaxSessionBytes, "max-session-log-bytes", 0,
		fmt.Sprintf("largest sum of the logs of one session (default %d)", int64(output.DefaultMaxSessionBytes)))
	set.Int64Var(&logs.MaxUserBytes, "max-user-log-bytes", 0,
		fmt.Sprintf("largest sum of the logs of all sessions of this user; to make room, the logs of ended "+
			"sessions are removed, the oldest first (default %d)", int64(output.DefaultMaxUserBytes)))
	set.DurationVar(&logs.Retention, "log-retention", 0,
		fmt.Sprintf("how long logs are kept after the session; negative: they are removed at its end (default %v)",
			output.DefaultRetention))
}

func addRemoteFlags(set *flag.FlagSet, f *remoteFlags) {
	set.StringVar(&f.listen, "listen", "",
		"`HOST:PORT` where hosts on other machines connect, with TLS; needs the three -tls flags")
	set.StringVar(&f.cert, "tls-cert", "",
		"`file` with the plugin's certificate; the three files are read again on SIGHUP")
	set.StringVar(&f.key, "tls-key", "", "`file` with its key")
	set.StringVar(&f.clientCA, "tls-client-ca", "",
		"`file` with the certificates of the CAs that sign the hosts' certificates")
	set.DurationVar(&f.maxLinger, "max-linger", time.Hour,
		"how long a session may outlive its lost connection, if its host asks for that")
	set.DurationVar(&f.drain, "drain", 30*time.Second, "how long sessions may go on after SIGTERM")
	set.StringVar(&f.health, "health", "", "`HOST:PORT` of GET /healthz, which is 503 while draining")
}

// dropsEnv reads the value of -drop-env.
func (f *flags) dropsEnv(globs string) error {
	f.dropEnv = strings.FieldsFunc(globs, func(r rune) bool { return r == ',' })
	return shared.SessionConfig{DropEnv: f.dropEnv}.Validate()
}

// fill returns a function that reads a flag's JSON into a value.
func fill(value interface{ Validate() error }) func(string) error {
	return func(text string) error {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields() // a newer host may ask for what this plugin cannot keep
		if err := decoder.Decode(value); err != nil {
			return err
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return errors.New("there is more after the JSON")
		}
		return value.Validate()
	}
}

func parseFlags(args []string) (*flags, error) {
	f := new(flags)
	set := flagSet(f)
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.help = true
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("%w; -help lists the flags", err)
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; -help lists the flags", set.Arg(0))
	}
	err = f.resolve()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// resolve checks the flags and makes their paths absolute.
func (f *flags) resolve() error {
	if f.logs.MaxBytes < 0 || f.logs.MaxSessionBytes < 0 || f.logs.MaxUserBytes < 0 {
		return errors.New("-max-log-bytes, -max-session-log-bytes and -max-user-log-bytes " +
			"must not be negative; 0 is the default")
	}
	if f.logs.Dir != "" {
		dir, err := filepath.Abs(f.logs.Dir)
		if err != nil {
			return fmt.Errorf("cannot find -log-dir: %w", err)
		}
		f.logs.Dir = dir
	}
	if hclog.LevelFromString(f.logLevel) == hclog.NoLevel {
		return fmt.Errorf("-log-level (or $BASH_PLUGIN_LOG_LEVEL) is %q: "+
			"use trace, debug, info, warn, error or off", f.logLevel)
	}
	if f.remote.listen != "" || f.debug {
		err := f.resolveConfine()
		if err != nil {
			return fmt.Errorf("-confine: %w", err)
		}
	}
	return nil
}

// resolveConfine resolves the paths of -confine, as a host does before it starts the plugin.
func (f *flags) resolveConfine() error {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	f.confine, err = f.confine.Resolve(dir)
	return err
}

func usage() string {
	var b bytes.Buffer
	b.WriteString(about)
	set := flagSet(new(flags))
	set.SetOutput(&b)
	set.PrintDefaults()
	return b.String()
}

func version() string {
	revision := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		revision = info.Main.Version
	}
	return fmt.Sprintf("bash-plugin %s (contract %d, %s, %s/%s)",
		revision, shared.Handshake.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

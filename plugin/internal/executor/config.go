package executor

import (
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Bounds of an Executor.
const (
	MaxRunning  = 256 // commands at a time
	MaxFinished = 256 // finished jobs that stay readable
)

// Config configures an Executor. The zero value works.
type Config struct {
	Dir string // where commands run; "": the working directory

	// Env is the environment of commands, without the tool's own settings; nil: this process's.
	// The variables whose names match a pattern of DropEnv are left out.
	Env     []string
	DropEnv []string

	Logs   output.LogsConfig
	Logger hclog.Logger // nil: none

	// Confine and Resources hold for every command. The first Confine is the plugin's own. The
	// paths in all of them are resolved.
	Confine   []shared.Confine
	Resources shared.Resources

	// Temp is the folder for the TMPDIRs of confined commands; "": os.TempDir().
	Temp string

	// Table is shared by all Executors of this process. The caller closes it after them. nil: this
	// Executor is the only one, and makes its own Table with Guardian, which may be nil.
	Table    *process.Table
	Guardian *process.Guardian

	// Turns are shared by all Executors of this process; the zero value: this one makes its own.
	Turns job.Turns

	// Start starts processes; nil: real ones. Tests inject failures here.
	Start func(process.Spec) (*process.Group, error)
}

// noEditor is a command in place of an editor: it says what to do instead, and fails. Programs
// append the file's name, and pass the whole text to a shell or split it as a shell would.
const noEditor = `sh -c 'echo "no editor here: use -m, --no-edit or GIT_EDITOR=true, ` +
	`GIT_SEQUENCE_EDITOR=COMMAND for git rebase -i, or edit the file and name it ` +
	`(git commit -F FILE, crontab FILE)" >&2; exit 1'`

// quiet keeps tools from waiting for a person: no pager, no editor, no prompt.
// Without PYTHONUNBUFFERED, Python buffers its output if stdout is not a terminal,
// and a server's "listening" would never come.
var quiet = []string{
	"TERM=dumb",
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "AWS_PAGER=", "DELTA_PAGER=cat", "BAT_PAGER=cat",
	"EDITOR=" + noEditor, "VISUAL=" + noEditor, "GIT_EDITOR=" + noEditor, "GIT_SEQUENCE_EDITOR=" + noEditor,
	"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "SSH_ASKPASS_REQUIRE=never",
	"DEBIAN_FRONTEND=noninteractive", "PIP_NO_INPUT=1", "PYTHONUNBUFFERED=1",
}

// baseEnvs returns the environment of every command, and of those with a terminal.
func (c Config) baseEnvs() (env, ofTerminals []string) {
	if env = c.Env; env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(shared.DropEnv(override(nil, env), c.DropEnv), func(entry string) bool {
		name := nameOf(entry)
		return name == "GPG_TTY" || pluginsOwn(name) // that terminal is not the command's
	})
	ofTerminals = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return nameOf(entry) == "COLUMNS" || nameOf(entry) == "LINES"
	})
	if !slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "GIT_ASKPASS=") }) {
		env = append(env, "GIT_ASKPASS=") // otherwise git asks in a window, by SSH_ASKPASS
	}
	return override(env, quiet), override(ofTerminals, []string{"TERM=xterm-256color"})
}

// pluginsOwn reports whether a variable is part of the handshake between host and
// plugin. It would break go-plugin programs that a command runs.
func pluginsOwn(name string) bool {
	return strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "BASH_PLUGIN")
}

// override sets variables in env, which it may change.
func override(env, over []string) []string {
	last := make(map[string]int, len(over))
	for i, entry := range over {
		last[nameOf(entry)] = i
	}
	env = slices.DeleteFunc(env, func(entry string) bool {
		_, is := last[nameOf(entry)]
		return is
	})
	for i, entry := range over {
		if last[nameOf(entry)] == i {
			env = append(env, entry)
		}
	}
	return env
}

// nameOf returns the variable that an entry of an environment sets.
func nameOf(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

package shared

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// SessionConfig says what a host asks for all commands of its session. The zero value asks for
// nothing. A host gives it when the session begins.
type SessionConfig struct {
	// Dir is where commands run; "": where the plugin decides.
	Dir string

	Env []string // KEY=VALUE, over the plugin's environment

	// DropEnv has names or path.Match patterns ("*_API_KEY") of variables that commands do not get.
	DropEnv []string

	// Confine says what every command may touch, and the most that a request may allow.
	Confine Confine

	// Resources says what each command may use, and the most that a request may allow.
	Resources Resources

	// LogDir is where output logs go; "": where the plugin decides.
	LogDir string

	// MaxLogBytes bounds one stream's log, MaxSessionLogBytes all logs of the session, and
	// MaxUserLogBytes the logs of all sessions of the plugin's user; 0: the plugin's default.
	MaxLogBytes        int64
	MaxSessionLogBytes int64
	MaxUserLogBytes    int64

	// LogRetention is how long logs outlive the session; 0: the plugin's default; negative: not at
	// all.
	LogRetention time.Duration

	// Host is the name in the certificate of a host on another machine. The plugin sets it.
	Host string
}

// Validate returns an ErrInvalid that names the field if Env, DropEnv, Resources, or a bound of
// the logs is wrong. Paths depend on the plugin's machine: a plugin checks them.
func (c SessionConfig) Validate() error {
	if index, problem := badEntry(c.Env); problem != "" {
		return invalid("Env", "Env[%d] %s", index, problem)
	}
	for _, pattern := range c.DropEnv {
		_, err := path.Match(pattern, "")
		if err != nil || pattern == "" || strings.ContainsAny(pattern, "=, \t\n\x00") {
			return invalid("DropEnv", `%q drops no variable: `+
				`use a name or a pattern such as "*_API_KEY", without "=", commas and spaces`, pattern)
		}
	}
	bounds := []struct {
		field, what string
		bytes       int64
	}{
		{"MaxLogBytes", "a log", c.MaxLogBytes},
		{"MaxSessionLogBytes", "all logs", c.MaxSessionLogBytes},
		{"MaxUserLogBytes", "all sessions' logs", c.MaxUserLogBytes},
	}
	for _, bound := range bounds {
		if bound.bytes < 0 {
			return invalid(bound.field, "the limit of %s is %d bytes: use 0 for the default, or a positive number",
				bound.what, bound.bytes)
		}
	}
	return c.Resources.Validate()
}

// DropEnv returns the entries of an environment whose names match no pattern. It reuses the memory
// of env. Patterns are as in SessionConfig.DropEnv.
func DropEnv(env, patterns []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			match, _ := path.Match(pattern, name)
			return match
		})
	})
}

// unkept returns the name of a setting that a Bash without a Configure method cannot keep; "": there
// is none.
func (c SessionConfig) unkept() string {
	switch {
	case c.Confine.Confines():
		return "Confine"
	case c.Resources != (Resources{}):
		return "Resources"
	case !isHere(c.Dir):
		return "Dir"
	case len(c.Env) > 0:
		return "Env"
	case len(c.DropEnv) > 0:
		return "DropEnv"
	case c.LogDir != "":
		return "LogDir"
	case c.MaxLogBytes != 0:
		return "MaxLogBytes"
	case c.MaxSessionLogBytes != 0:
		return "MaxSessionLogBytes"
	case c.MaxUserLogBytes != 0:
		return "MaxUserLogBytes"
	case c.LogRetention != 0:
		return "LogRetention"
	}
	return ""
}

// isHere reports whether dir is this process's directory, where commands run by default.
func isHere(dir string) bool {
	if dir == "" {
		return true
	}
	there, err := os.Stat(dir)
	if err != nil {
		return false
	}
	here, err := os.Stat(".")
	return err == nil && os.SameFile(here, there)
}

// Configure gives the settings to a Bash, or says which one it cannot keep. A Bash that wraps
// another passes its settings on by calling Configure.
func Configure(bash Bash, config SessionConfig) error {
	configurer, ok := bash.(interface{ Configure(SessionConfig) error })
	if ok {
		return configurer.Configure(config)
	}
	field := config.unkept()
	if field == "" {
		return nil
	}
	message := fmt.Sprintf("this plugin cannot keep %s: "+
		"leave it out, or use a plugin that has a Configure method", field)
	return &Error{Code: CodeStart, Message: message, Field: field}
}

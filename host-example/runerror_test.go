//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// jsonError is what run -json prints where there is no Result.
type jsonError struct {
	Error struct {
		Code    shared.Code `json:"code"`
		Message string      `json:"message"`
	} `json:"error"`
}

// An error of this program has another exit code than a command that fails, and programs
// can read it.
func TestRunTellsItsErrorsFromTheCommands(t *testing.T) {
	t.Parallel()
	const (
		start   = shared.CodeStart
		invalid = shared.CodeInvalid
	)
	elsewhere := "-connect=127.0.0.1:1"
	for name, c := range map[string]struct {
		args    []string
		env     string
		exit    int
		code    shared.Code // "": the object is not printed
		message string      // begins so
	}{
		"no plugin":         {[]string{"-plugin=/nowhere/plugin", "true"}, "", toolError, start, "-plugin: there is no"},
		"no bash":           {[]string{"true"}, "PATH=/nowhere", toolError, start, "cannot find bash in PATH (/nowhere)"},
		"no directory":      {[]string{"-dir=/nowhere", "true"}, "", toolError, invalid, "-dir: cannot use the"},
		"no path":           {[]string{"-writable=/nowhere", "true"}, "", toolError, invalid, "-writable: Confine.Writable"},
		"log level":         {[]string{"-log-level=loud", "true"}, "", toolError, invalid, "-log-level (or "},
		"no certificates":   {[]string{elsewhere, "true"}, "", toolError, invalid, "three files are needed"},
		"logs elsewhere":    {[]string{elsewhere, "-log-dir=/tmp", "true"}, "", toolError, invalid, "-log-dir is for a plugin"},
		"invalid request":   {[]string{"-processes=-1", "true"}, "", toolError, invalid, "Resources.Processes is -1: use 0"},
		"a crash":           {[]string{"kill -9 $PPID; wait"}, "", toolError, shared.CodeCrashed, "the plugin is gone"},
		"no command":        {nil, "", usageError, invalid, "there is no COMMAND"},
		"a wrong mode":      {[]string{"-mode=nonsense", "true"}, "", usageError, invalid, `-mode is "nonsense": use one`},
		"a wrong flag":      {[]string{"-nonsense", "true"}, "", usageError, invalid, "flag provided but not defined"},
		"a failure":         {[]string{"exit 1"}, "", 1, "", ""},
		"its own 125":       {[]string{"exit 125"}, "", 125, "", ""},
		"there is no such":  {[]string{"no-such-program"}, "", 127, "", ""},
		"help is no error":  {[]string{"-help"}, "", 0, "", ""},
		"killed by a limit": {[]string{"-mode=terminate", "-timeout=1ms", endless}, "", 143, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "host-example", append([]string{"run", "-json"}, c.args...)...)
			cmd.Env = append(cmd.Env, c.env)
			r := finish(t, cmd)
			assert.Equal(t, c.exit, r.code, r.stderr)
			if c.code == "" {
				assert.NotContains(t, r.stdout, `"error": {`+"\n")
				return
			}
			var object jsonError
			decoder := json.NewDecoder(strings.NewReader(r.stdout))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(&object), r.stdout)
			assert.False(t, decoder.More(), "it is all that stdout has")
			assert.Equal(t, c.code, object.Error.Code)
			assert.True(t, strings.HasPrefix(object.Error.Message, c.message), object.Error.Message)
			assert.Contains(t, r.stderr, object.Error.Message, "people read the same")

			cmd = program(t, "host-example", append([]string{"run"}, c.args...)...)
			cmd.Env = append(cmd.Env, c.env)
			r = finish(t, cmd)
			assert.Equal(t, c.exit, r.code)
			assert.Empty(t, r.stdout, "without -json")
		})
	}
	assert.Equal(t, 1, hostExample(t, "repl", "-plugin", "/nowhere/plugin").code, "only run has codes of its own")
	assert.Empty(t, hostExample(t, "run", "-nonsense", "-json", "true").stdout, "nobody knows yet that JSON is wanted")
}

func TestRunTellsOfOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full := fullDevice(t)
	for _, flag := range []string{"-json=false", "-json"} {
		cmd := program(t, "host-example", "run", flag, "echo text; exit 3")
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		assert.Equal(t, toolError, cmd.ProcessState.ExitCode(), flag)
		assert.Contains(t, stderr.String(), "cannot write the output")
	}
}

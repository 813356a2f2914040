//go:build unix

package host_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

func TestLaunchSaysWhatIsWrongWithThePlugin(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	dir := t.TempDir()
	binary := filepath.Join(t.TempDir(), "binary")
	require.NoError(t, os.WriteFile(binary, []byte("\x7fELF is not enough"), 0o700))
	lost := filepath.Join(t.TempDir(), "lost")
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700))
	for name, c := range map[string]struct {
		path string
		says []string
	}{
		"missing":                {"/no/such/plugin", []string{"no plugin at", "build it"}},
		"a directory":            {dir, []string{"is a directory", "name the plugin's binary"}},
		"below a file":           {plain + "/plugin", []string{"not a directory"}},
		"not executable":         {plain, []string{"not executable", "chmod +x"}},
		"no program":             {binary, []string{"exec format error"}},
		"a lost interpreter":     {lost, []string{"cannot start the plugin"}},
		"ends at once":           {"/bin/true", []string{"not a go-plugin plugin"}},
		"fails at once":          {"/bin/false", []string{"not a go-plugin plugin"}},
		"prints something else":  {plugintest.Script(t, "echo hello there; exec sleep 1000"), []string{"not a go-plugin plugin"}},
		"prints a lot":           {plugintest.Script(t, "yes | head -c 1000000; exec sleep 1000"), []string{"not a go-plugin plugin"}},
		"prints binary data":     {plugintest.Script(t, "printf '\\377\\000|\\001||||\\n'; exec sleep 1000"), []string{"not a go-plugin plugin"}},
		"prints escapes":         {plugintest.Script(t, "printf '\\033]0;title\\007\\033[2J\\n'; exit 1"), []string{"not a go-plugin plugin"}},
		"complains":              {plugintest.Script(t, "echo no license >&2; exit 1"), []string{"no license"}},
		"never gets ready":       {plugintest.Script(t, "exec sleep 1000"), []string{"did not get ready within 1s", "more time"}},
		"another version":        {plugintest.Script(t, "echo '1|99|unix|/tmp/none|netrpc|'; exec sleep 1000"), []string{"another version of the contract", "build both"}},
		"another core version":   {plugintest.Script(t, "echo '9|1|unix|/tmp/none|netrpc|'; exec sleep 1000"), []string{"version"}},
		"another protocol":       {plugintest.Script(t, "echo '1|2|unix|/tmp/none|grpc|'; exec sleep 1000"), []string{"unsupported plugin protocol"}},
		"says where nobody is":   {plugintest.Script(t, "echo '1|2|unix|/tmp/none|netrpc|'; exec sleep 1000"), []string{"cannot start the plugin"}},
		"has a broken handshake": {plugintest.Script(t, "echo '1|2|unix'; exec sleep 1000"), []string{"not a go-plugin plugin"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := plugintest.Hang
			if name == "never gets ready" {
				timeout = time.Second
			}
			bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: c.path, StartTimeout: timeout})
			assert.Nil(t, bash)
			e := plugintest.RequireCode(t, err, shared.ErrStart)
			assert.Contains(t, e.Message, c.path, "it says which")
			assert.Contains(t, []string{"Path", "StartTimeout"}, e.Field)
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
			assert.NotRegexp(t, `[[:cntrl:]]`, e.Message)
		})
	}
}

func TestLaunchSaysWhyThePluginCannotRun(t *testing.T) {
	t.Parallel()
	_, err := host.Launch(t.Context(), host.LaunchConfig{Path: plugintest.Path, Env: []string{"TMPDIR=/no/such/dir"}})
	e := plugintest.RequireCode(t, err, shared.ErrStart)
	assert.Contains(t, e.Message, plugintest.Path)
	assert.Contains(t, e.Message, "/no/such/dir")
}

// internal/instance tests what else a start can leave.
func TestLaunchLeavesNothingOfAFailedStart(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"that printed something else": "echo hello; wait",
		"that hangs":                  "wait",
		"that does not answer":        "echo '1|2|unix|" + silentSocket(t) + "|netrpc|'; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			ctx, cancel := plugintest.Cancelable(t)
			launched := make(chan error, 1)
			go func() {
				_, err := host.Launch(ctx, host.LaunchConfig{Path: plugintest.Script(t, "sleep 1000 & echo $$ $! >"+file+"\n"+text)})
				launched <- err
			}()
			pids := plugintest.Numbers(t, plugintest.AwaitFile(t, file))
			cancel()
			plugintest.RequireErrorIsOneOf(t, plugintest.Await(t, launched), context.Canceled, shared.ErrStart)
			plugintest.AwaitDeath(t, pids...)
		})
	}
}

func TestLaunchVerifiesTheChecksum(t *testing.T) {
	t.Parallel()
	binary := plugintest.ReadFile(t, plugintest.Path)
	sum := sha256.Sum256([]byte(binary))
	bash := plugintest.LaunchWith(t, host.LaunchConfig{SHA256: sum[:]})
	assert.Equal(t, "hi\n", plugintest.Run(t, bash, "echo hi").Stdout.Content)

	trace := filepath.Join(t.TempDir(), "trace")
	other := plugintest.Script(t, "echo >"+trace)
	_, err := host.Launch(t.Context(), host.LaunchConfig{Path: other, SHA256: sum[:]})
	e := plugintest.RequireCode(t, err, shared.ErrStart)
	assert.Contains(t, e.Message, other)
	assert.Contains(t, e.Message, "checksum")
	assert.Equal(t, "SHA256", e.Field)
	assert.NoFileExists(t, trace, "it was started")
}

func TestLaunchRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	config := func(cfg host.LaunchConfig) host.LaunchConfig {
		cfg.Path = plugintest.Path
		return cfg
	}
	dropEnv := func(glob string) host.LaunchConfig { return config(host.LaunchConfig{DropEnv: []string{glob}}) }
	for name, c := range map[string]struct {
		cfg   host.LaunchConfig
		field string
		says  []string
	}{
		"no path":                {host.LaunchConfig{}, "Path", []string{"no plugin is named"}},
		"missing dir":            {config(host.LaunchConfig{Dir: "/no/such/dir"}), "Dir", []string{"/no/such/dir"}},
		"dir is a file":          {config(host.LaunchConfig{Dir: file}), "Dir", []string{file}},
		"empty checksum":         {config(host.LaunchConfig{SHA256: []byte{}}), "SHA256", []string{"0 bytes"}},
		"short checksum":         {config(host.LaunchConfig{SHA256: []byte("abc")}), "SHA256", []string{"32"}},
		"negative log size":      {config(host.LaunchConfig{MaxLogBytes: -1}), "MaxLogBytes", []string{"-1", "0"}},
		"negative logs' size":    {config(host.LaunchConfig{MaxSessionLogBytes: -1}), "MaxSessionLogBytes", []string{"-1", "0"}},
		"negative user's logs":   {config(host.LaunchConfig{MaxUserLogBytes: -1}), "MaxUserLogBytes", []string{"-1", "0"}},
		"negative start timeout": {config(host.LaunchConfig{StartTimeout: -1}), "StartTimeout", []string{"-1ns"}},
		"env without =":          {config(host.LaunchConfig{Env: []string{"A"}}), "Env", []string{`"A"`, "KEY=VALUE"}},
		"env with a NUL":         {config(host.LaunchConfig{Env: []string{"A=\x00"}}), "Env", []string{"NUL"}},
		"a bad pattern":          {dropEnv("[A"), "DropEnv", []string{`"[A"`, "*_API_KEY"}},
		"a list":                 {dropEnv("A,B"), "DropEnv", []string{`"A,B"`, "commas"}},
		"an entry with a value":  {dropEnv("A=b"), "DropEnv", []string{`"A=b"`, `without "="`}},
		"an empty pattern":       {dropEnv(""), "DropEnv", []string{`""`}},
		"a space before a name":  {dropEnv(" SECRET"), "DropEnv", []string{`" SECRET"`, "spaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bash, err := host.Launch(t.Context(), c.cfg)
			assert.Nil(t, bash)
			e := plugintest.RequireCode(t, err, shared.ErrInvalid)
			assert.Equal(t, c.field, e.Field)
			assert.NotContains(t, e.Message, "LaunchConfig", "a host names its own flag")
			for _, text := range c.says {
				assert.Contains(t, e.Message, text)
			}
		})
	}
}

func TestLaunchWithARelativePath(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	path, err := filepath.Rel(here, plugintest.Path)
	require.NoError(t, err)
	bash, err := host.Launch(t.Context(), host.LaunchConfig{Path: path, LogDir: t.TempDir(), Dir: ".."})
	require.NoError(t, err)
	defer bash.Close()
	assert.Equal(t, filepath.Dir(here)+"\n", plugintest.Run(t, bash, "pwd").Stdout.Content)
}

func TestLaunchWiresTheLogger(t *testing.T) {
	t.Parallel()
	var log plugintest.Buffer
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})})
	r := plugintest.Run(t, bash, `echo '{"@message":5}' >&2; echo '{"@message":6}' >/proc/$PPID/fd/2; echo "a secret"; exit 3`)
	assert.Equal(t, "{\"@message\":5}\n", r.Stderr.Content)
	plugintest.Eventually(t, "the plugin's log line", func() bool { return strings.Contains(log.String(), fmt.Sprintf("pid=%d", r.PID)) })
	assert.Contains(t, log.String(), "exit_code=3")
	assert.NotContains(t, log.String(), "a secret")
	assert.NotContains(t, log.String(), "@message", "no output reaches the log")
}

func TestLaunchPassesTheLoggersLevel(t *testing.T) {
	t.Parallel()
	var log plugintest.Buffer
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Logger: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn})})
	plugintest.Run(t, bash, "exit 3")
	require.NoError(t, bash.Close())
	assert.Empty(t, log.String())
}

func TestLaunchDropsEnv(t *testing.T) {
	t.Setenv("TEST_API_KEY", "secret")
	t.Setenv("TEST_OTHER", "kept")
	bash := plugintest.LaunchWith(t, host.LaunchConfig{
		Env:     []string{"MY_API_KEY=secret", "TOKEN=secret", "TOKENS=kept"},
		DropEnv: []string{"*_API_KEY", "TOKEN"},
	})
	vars := plugintest.Environment(t, bash, "MINE=1")
	for _, name := range []string{"TEST_API_KEY", "MY_API_KEY", "TOKEN"} {
		assert.NotContains(t, vars, name)
	}
	for _, name := range []string{"TEST_OTHER", "TOKENS", "MINE"} {
		assert.Contains(t, vars, name)
	}
	assert.NotContains(t, plugintest.ReadFile(t, fmt.Sprintf("/proc/%d/environ", bash.PluginPID())), "secret", "the plugin does not get them either")
}

func TestTheSocketIsPrivate(t *testing.T) {
	t.Parallel()
	temp := plugintest.ShortDir(t)
	plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		assert.True(t, info.IsDir(), "nothing lies open in the folder")
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
}

// A folder for temporary files that go-plugin's first line, or JSON, cannot name.
func TestOddTemporaryFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a|b", "a\nb", "caf\xe9", "a [b]* c"} {
		temp := filepath.Join(plugintest.ShortDir(t), name)
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Logf("%q: not on this file system: %v", name, err)
			continue
		}
		bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + temp}})
		assert.Equal(t, "hi\n", plugintest.Run(t, bash, "echo hi").Stdout.Content)
	}
}

// A relative folder is the guardian's to remove as well.
func TestARelativeTemporaryFolder(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	temp := plugintest.ShortDir(t)
	relative, err := filepath.Rel(here, temp)
	require.NoError(t, err)
	bash := plugintest.LaunchWith(t, host.LaunchConfig{Env: []string{"TMPDIR=" + relative}})
	plugintest.Run(t, bash, "true")
	folders := func() []string {
		found, err := filepath.Glob(temp + "/bash-plugin-run-*")
		require.NoError(t, err)
		return found
	}
	require.Len(t, folders(), 1)
	require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
	plugintest.Eventually(t, "the folder is gone", func() bool { return len(folders()) == 0 })
}

// Where /proc shows other processes than its own, the plugin would find none.
func TestProcOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-pf", "true").Run(); err != nil {
		t.Skip("needs the right to make a PID namespace: ", err)
	}
	path := filepath.Join(t.TempDir(), "unshared")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec unshare -pf --kill-child "+plugintest.Path+" \"$@\"\n"), 0o700))
	_, err := host.Launch(t.Context(), host.LaunchConfig{Path: path})
	plugintest.RequireCode(t, err, shared.ErrStart)
	assert.ErrorContains(t, err, "PID namespace")
}

func TestPluginPID(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := bash.PluginPID()
	assert.True(t, plugintest.Alive(pid))
	assert.Equal(t, plugintest.Path+"\n", plugintest.Run(t, bash, fmt.Sprintf("readlink /proc/%d/exe", pid)).Stdout.Content)
	require.NoError(t, bash.Close())
	assert.Zero(t, bash.PluginPID())
	assert.False(t, plugintest.Alive(pid))
}

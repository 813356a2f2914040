package remote

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// startFails starts a plugin that serves by itself, which must end with an error at once,
// and returns what it says.
func startFails(t *testing.T, flags ...string) string {
	t.Helper()
	certs := certsDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), plugintest.Hang)
	defer cancel()
	flags = append(flags,
		"-tls-cert", certs+"/plugin.pem", "-tls-key", certs+"/plugin-key.pem", "-tls-client-ca", certs+"/ca.pem")
	cmd := exec.CommandContext(ctx, plugintest.Path, flags...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "it has started: %s", said)
	require.Error(t, err, "%s", said)
	return string(said)
}

// Whoever starts the plugin by hand learns at the start that it cannot keep what the flags say.
func TestFlagsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ flag, value, says string }{
		"writable": {"-confine", `{"ReadOnly":true,"Writable":["/does/not/exist"]}`,
			`-confine: Confine.Writable: cannot use "/does/not/exist": name a directory or a file that exists`},
		"readable": {"-confine", `{"Private":true,"Readable":["/usr","/does/not/exist"]}`,
			`-confine: Confine.Readable: cannot use "/does/not/exist"`},
		"relative":      {"-confine", `{"ReadOnly":true,"Writable":["nope"]}`, `cannot use "` + dir + `/nope"`},
		"empty":         {"-confine", `{"ReadOnly":true,"Writable":[""]}`, "Confine.Writable has an empty path"},
		"two":           {"-confine", `{"ReadOnly":true} {"NoNetwork":true}`, "there is more after the JSON"},
		"more":          {"-resources", `{"CPU":1}]`, "there is more after the JSON"},
		"no size":       {"-resources", `{"Memory":"2GB"}`, `"2GB" is no size: use a positive number of bytes`},
		"no duration":   {"-resources", `{"CPU":"10"}`, `"10" is no duration: use a positive number of nanoseconds`},
		"no such limit": {"-resources", `{"Memroy":"2GiB"}`, `unknown field "Memroy"`},
		"negative":      {"-resources", `{"Memory":-1}`, "Resources.Memory is -1 bytes: use 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, serve := range [][]string{{"-listen", "127.0.0.1:0"}, {"-debug"}} {
				said := startFails(t, append(serve, "-dir", dir, c.flag, c.value)...)
				assert.Contains(t, said, c.says)
				assert.Contains(t, said, c.flag)
			}
		})
	}
}

// The paths of -confine are what an operator means: relative ones begin at -dir, and
// links lead where they lead at the start.
func TestServingWithAConfine(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	y := plugintest.NewYard(t, os.Getuid())
	require.NoError(t, os.Symlink("empty", filepath.Join(y.Inside, "link")))
	for name, c := range map[string]struct {
		flags, wrap []string
		path        string
	}{
		"at -dir":                   {[]string{"-dir", y.Inside}, nil, "empty"},
		"at -dir, by a link":        {[]string{"-dir", y.Inside}, nil, "link"},
		"in the working directory":  {nil, []string{"env", "-C", y.Inside}, "./empty"},
		"at a -dir which begins so": {[]string{"-dir", "inside"}, []string{"env", "-C", y.Root}, "link"},
	} {
		t.Run(name, func(t *testing.T) {
			confine := `{"ReadOnly": true, "Writable": ["` + c.path + `"]}`
			bash := serveRemote(t, append(c.flags, "-confine", confine), c.wrap...).connect(t)
			r := plugintest.Run(t, bash, "echo x >empty/new && rm empty/new && echo kept; echo x >new")
			plugintest.Says(t, r, "kept\n")
			plugintest.Says(t, r, "new: Permission denied")
			assert.Equal(t, "it may write below "+y.Inside+"/empty, $TMPDIR", r.Confined)
		})
	}
}

// -resources may be written by hand: the limits are those of every session.
func TestServingWithResources(t *testing.T) {
	t.Parallel()
	bash := serveRemote(t, []string{"-resources", `{"Memory": "1.5GiB", "CPU": "200ms", "Disk": "1GiB"}`}).connect(t)
	for _, c := range []struct {
		asks shared.Resources
		says string
	}{
		{shared.Resources{Memory: 3<<29 + 1}, "use 0 for the session's, or at most 1.5 GiB, as the session allows"},
		{shared.Resources{CPU: time.Second}, "at most 200ms,"},
		{shared.Resources{Disk: 1<<30 + 1}, "at most 1 GiB,"},
	} {
		_, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "true", Resources: c.asks})
		require.ErrorContains(t, plugintest.RequireCode(t, err, shared.ErrInvalid), c.says)
	}
	r := plugintest.Run(t, bash, "while :; do :; done")
	assert.Equal(t, shared.CauseCPU, r.Cause)
	assert.Contains(t, r.Exceeded, "200ms allowed")
}

// A path that vanishes once Launch has resolved it allows nothing, and takes nothing else away.
func TestAPathThatVanishesBeforeThePluginStarts(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	for name, replace := range map[string]string{"gone": "true", "a link to outside": "ln -s $OUT $IN/empty"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := plugintest.NewYard(t, os.Getuid())
			before := y.Look(t)
			script := filepath.Join(y.Root, "plugin")
			begin := "#!/bin/sh\nrmdir $IN/empty && " + replace + "; exec " + plugintest.Path + ` "$@"`
			require.NoError(t, os.WriteFile(script, []byte(begin), 0o700))
			require.NoError(t, os.Mkdir(filepath.Join(y.Inside, "stays"), 0o700))
			bash := plugintest.LaunchWith(t, host.LaunchConfig{
				Path:    script,
				Dir:     y.Inside,
				Env:     []string{"OUT=" + y.Outside, "IN=" + y.Inside},
				Confine: &shared.Confine{ReadOnly: true, Writable: []string{"empty", "stays"}},
			})
			r := plugintest.Run(t, bash, "echo x >stays/new && echo kept; mkdir empty; "+
				"for file in new $OUT/new $OUT/file empty/new; do echo x >$file; done")
			assert.Equal(t, 4, strings.Count(r.Stderr.Content, "Permission denied"), r.Stderr.Content)
			plugintest.Says(t, r, "kept\n")
			assert.Equal(t, before, y.Look(t))
			assert.NoFileExists(t, filepath.Join(y.Inside, "new"))
		})
	}
}

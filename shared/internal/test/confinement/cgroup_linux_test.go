package confinement

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// Tests named TestCgroup… also run in make test-cgroup, by a kernel with cgroup v2
// controllers and without Landlock.

func TestCgroupConfineWithoutLandlock(t *testing.T) {
	t.Parallel()
	y := plugintest.NewYard(t, os.Getuid())
	bash := y.Launch(t, nil)
	try := func(c shared.Confine) (*shared.Result, error) {
		return bash.Execute(t.Context(), shared.ExecuteRequest{Command: "echo x >$OUT/file; cat $OUT/file; : </dev/tcp/127.0.0.1/1; grep NoNewPrivs /proc/self/status", Confine: &c})
	}
	const (
		files   = "files (Landlock, since Linux 5.13)"
		signals = "signals and abstract sockets (Landlock ABI 6, since Linux 6.12)"
	)
	if _, err := try(shared.Confine{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), files) {
		t.Skip("this kernel has Landlock")
	}
	for name, c := range map[string]struct {
		confine shared.Confine
		lacks   string // what START_FAILED names
		kept    string // what is kept with BestEffort
	}{
		"ReadOnly":  {shared.Confine{ReadOnly: true}, files + ", " + signals, ""},
		"Private":   {shared.Confine{Private: true}, files + ", " + signals, ""},
		"NoNetwork": {shared.Confine{NoNetwork: true}, signals, "network: none; "},
		"all":       {shared.Confine{ReadOnly: true, Private: true, NoNetwork: true}, files + ", " + signals, "network: none; "},
	} {
		_, err := try(c.confine)
		e := plugintest.RequireCode(t, err, shared.ErrStart)
		assert.Equal(t, "Confine", e.Field, name)
		assert.Contains(t, e.Message, "this system cannot keep Confine for: "+c.lacks+"; with BestEffort", name)

		c.confine.BestEffort = true
		r, err := try(c.confine)
		if assert.NoError(t, err, name) {
			assert.Equal(t, c.kept+"this system cannot keep: "+c.lacks, r.Confined)
			assert.Equal(t, "x\nNoNewPrivs:\t1\n", r.Stdout.Content, name)
			refusal := "Connection refused"
			if c.kept != "" {
				refusal = "Permission denied"
			}
			assert.Contains(t, r.Stderr.Content, refusal, name)
		}
	}
}

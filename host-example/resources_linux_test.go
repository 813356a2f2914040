package main

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

func TestResourceFlags(t *testing.T) {
	t.Parallel()
	set, launch := newFlagSet("run")
	require.NoError(t, set.Parse([]string{"-memory", "2GiB", "-cpu", "10m", "-processes", "200", "-disk", "512M"}))
	assert.Equal(t, shared.Resources{Memory: 2 << 30, CPU: 10 * time.Minute, Processes: 200, Disk: 512 << 20}, launch.Resources)
	for text, want := range map[string]int64{"1": 1, "100KiB": 100 << 10, "3T": 3 << 40, "1TiB": 1 << 40, "1.5GiB": 3 << 29} {
		require.NoError(t, set.Set("disk", text))
		assert.Equal(t, want, launch.Resources.Disk)
	}
	for _, text := range []string{"", "0", "-1", "1.5", "0.5B", "1GB", "0.0001KiB", "GiB", "1 GiB", "5X", "1MM", "1KG", "1kib", "9999999999G", "99999999999999999999"} {
		var set flag.FlagSet
		resourceFlags(&set, new(shared.Resources))
		assert.ErrorContains(t, set.Set("memory", text), "as in 512MiB", text)
	}
	r := hostExample(t, "run", "-memory", "1GB", "true")
	assert.Equal(t, usageError, r.code)
	assert.Contains(t, r.stderr, `"1GB" is no size: use a positive number of bytes, or of KiB, MiB, GiB or TiB, as in 512MiB or 1.5GiB`)
	r = hostExample(t, "run", "-processes", "-1", "true")
	assert.Contains(t, r.stderr, "Resources.Processes is -1: use 0")
}

func TestRunSaysWhichLimitWasExceeded(t *testing.T) {
	t.Parallel()
	r := hostExample(t, "run", "-cpu", "200ms", "while :; do :; done")
	assert.Regexp(t, `^\[killed: it used \d+ms of processor time, 200ms allowed\]\n$`, r.stderr)
	assert.Equal(t, 137, r.code)
	r = hostExample(t, "run", "-disk", "0.5MiB", "head -c 512K /dev/zero >$TMPDIR/full && echo kept; exec head -c 513K /dev/zero >$TMPDIR/more")
	assert.Equal(t, "kept\n", r.stdout)
	assert.Equal(t, 128+25, r.code, "SIGXFSZ")
	r = hostExample(t, "run", "-disk", "1MiB", "-json", "exec head -c 2M /dev/zero >$(mktemp)")
	var result shared.Result
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &result))
	assert.Equal(t, shared.CauseDisk, result.Cause)
	r = hostExample(t, "run", "-processes", "9", "-json", "i=0; while ((i < 100000)); do ((i += 1)); done")
	assert.Regexp(t, `"cpu_ms": \d+`, r.stdout)
}

func TestReplListsWhatJobsUse(t *testing.T) {
	t.Parallel()
	r := script(t, "sleep 100 & sleep 0.1", ":jobs")
	assert.Regexp(t, `(?m)^PID +STATUS +AGE +CPU +MEMORY +COMMAND\n\d+ +completed, 1 left +\d+s +\d+(ms|s) +- +sleep 100`, r.stdout)
}

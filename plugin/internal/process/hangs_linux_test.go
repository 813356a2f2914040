package process_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// End does not wait for ever for a process that takes no signal, here in a frozen cgroup
// of version 1, and ends the rest.
func TestEndOfAProcessThatHangs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup", 0, "freezer"); err != nil {
		t.Skip("no freezer of cgroups of version 1: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(root, 0)) })
	dir := root + "/" + t.Name() + strconv.Itoa(os.Getpid())
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
	write := func(file, text string) { require.NoError(t, os.WriteFile(dir+"/"+file, []byte(text), 0)) }

	c := start(t, `bash -c "$p" & bash -c "$p" & wait`)
	pids := c.pids(2)
	write("tasks", strconv.Itoa(pids[0]))
	write("freezer.state", "FROZEN")
	eventually(t, "it is frozen", func() bool {
		text, _ := os.ReadFile(dir + "/freezer.state")
		return strings.TrimSpace(string(text)) == "FROZEN"
	})
	assert.False(t, c.End(syscall.SIGKILL, 0))
	assert.Equal(t, pids[:1], living(pids))
	write("freezer.state", "THAWED")
	closed(t, "it was killed", c.Gone())
	eventually(t, "the cgroup is empty", func() bool {
		text, _ := os.ReadFile(dir + "/tasks")
		return len(text) == 0
	})
}

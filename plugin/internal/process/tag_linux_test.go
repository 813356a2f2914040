package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// outsider starts a process whose parent is a child of this one.
func outsider(t *testing.T) (child int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", "sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Kill(child, unix.SIGKILL)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return child
}

// tagLimit returns the limit that is the tag.
func tagLimit(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "Max file locks")
	require.True(t, found)
	return strings.Fields(rest)[0]
}

// Whoever may limit a process can give it the tag. The guardian ends what comes from its
// plugin: what has it as an ancestor, and what the kernel gave to the guardian's parent.
func TestTheGuardianSparesOthersWithTheTag(t *testing.T) {
	older := outsider(t)
	d := startDoomed(t, doom{Commands: []string{`setsid -f bash -c "$p"; (setsid setsid bash -c "$p" &); echo $$ >&3; exec sleep 1000`}})
	pids := d.pids(3)
	younger := outsider(t)
	limit, err := strconv.ParseUint(tagLimit(t, pids[0]), 10, 64)
	require.NoError(t, err)
	for _, pid := range []int{older, younger} {
		require.NoError(t, unix.Prlimit(pid, 10, &unix.Rlimit{Cur: limit, Max: ^uint64(0)}, nil))
	}
	d.kill()
	require.Empty(t, living(pids))
	require.Equal(t, []int{older, younger}, living([]int{older, younger}))
}

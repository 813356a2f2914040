package remote

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// As process 1 of a PID namespace, as in a container, the plugin reaps all orphans and
// ends at SIGTERM.
func TestThePluginAsProcess1(t *testing.T) {
	t.Parallel()
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("this system does not permit PID namespaces: %s", out)
	}
	p := serveRemote(t, nil, unshare...)
	bash := p.connect(t)
	r := plugintest.Run(t, bash, `echo $PPID; (setsid bash -c 'sleep 0.01 & sleep 0.02 &' &) ; setsid --fork sleep 0.01`)
	require.Equal(t, "1\n", r.Stdout.Content)
	if len(r.Leftover) > 0 {
		plugintest.AwaitEnd(t, bash, r.PID)
		plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang}) // of the left-over ones
	}
	plugintest.Eventually(t, "no zombie", func() bool {
		return plugintest.Run(t, bash, `grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l`).Stdout.Content == "0\n"
	})
	require.NoError(t, bash.Close())
	child, err := exec.Command("pgrep", "-P", strconv.Itoa(p.cmd.Process.Pid)).Output()
	require.NoError(t, err)
	require.NoError(t, exec.Command("kill", "-TERM", string(child[:len(child)-1])).Run())
	plugintest.Await(t, p.ended)
	assert.Contains(t, p.said(), "ends: signal=terminated")
}

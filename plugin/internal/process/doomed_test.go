package process_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

// doomedEnv makes this program a process that starts a guardian and the
// commands in the variable, and waits to be killed.
const doomedEnv = "PROCESS_TEST_DOOMED"

type doom struct {
	Commands []string
	PID      int // the first command's, where the kernel lets choose
	Duties   process.Duties
}

func runDoomed() {
	var d doom
	if err := json.Unmarshal([]byte(os.Getenv(doomedEnv)), &d); err != nil {
		panic(err)
	}
	os.Unsetenv(doomedEnv)
	record, err := process.StartGuardian(d.Duties)
	if err != nil {
		panic(err)
	}
	table := process.NewTable(record)
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	tell := os.NewFile(3, "tell")
	for _, text := range d.Commands {
		nextPID(d.PID, func() { _, err = table.Start(spec(text, null, tell)) })
		if err != nil {
			panic(err)
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if !table.Close() {
		os.Exit(3)
	}
}

// doomed is such a process.
type doomed struct {
	*command
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *os.File // at its end of file the guardian has ended
}

func startDoomed(t *testing.T, d doom) *doomed {
	t.Helper()
	text, err := json.Marshal(d)
	require.NoError(t, err)
	tell, tellThere, err := os.Pipe()
	require.NoError(t, err)
	stderr, stderrThere, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), doomedEnv+"="+string(text))
	cmd.Stderr = stderrThere
	cmd.ExtraFiles = []*os.File{tellThere}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	tellThere.Close()
	stderrThere.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tell.Close()
		stderr.Close()
	})
	return &doomed{&command{nil, t, bufio.NewReader(tell)}, cmd, stdin, stderr}
}

// guardianEnds waits for the guardian's end and returns what it and the
// process wrote to stderr.
func (d *doomed) guardianEnds() string {
	d.t.Helper()
	require.NoError(d.t, d.stderr.SetReadDeadline(time.Now().Add(patience)))
	text, err := io.ReadAll(d.stderr)
	require.NoError(d.t, err, "the guardian still works")
	return string(text)
}

package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

// doomedEnv makes this program a process that starts a guardian, the commands in
// the variable and those that come as lines on stdin, and waits to be killed. It
// answers each line on descriptor 3.
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
	guardian, err := process.StartGuardian(d.Duties)
	if err != nil {
		panic(err)
	}
	table := process.NewTable(guardian)
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	tell := os.NewFile(3, "tell")
	start := func(text string) *process.Group {
		g, err := table.Start(spec(text, null, tell))
		if err != nil {
			panic(err)
		}
		return g
	}
	for _, text := range d.Commands {
		nextPID(d.PID, func() { start(text) })
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		start(lines.Text()).Members() // which adopts the orphans
		fmt.Fprintln(tell, 0)
	}
	if !table.Close() {
		os.Exit(3)
	}
}

// doomed is such a process.
type doomed struct {
	*command
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File // at its end of file the guardian has ended
}

func startDoomed(t *testing.T, d doom) *doomed {
	t.Helper()
	text, err := json.Marshal(d)
	require.NoError(t, err)
	tell, tellThere, err := os.Pipe()
	require.NoError(t, err)
	stdout, stdoutThere, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), doomedEnv+"="+string(text))
	cmd.Stdout = stdoutThere
	cmd.ExtraFiles = []*os.File{tellThere}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	tellThere.Close()
	stdoutThere.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tell.Close()
		stdout.Close()
	})
	return &doomed{&command{nil, t, bufio.NewReader(tell)}, cmd, stdin, stdout}
}

// do starts a command.
func (d *doomed) do(text string) {
	d.t.Helper()
	_, err := io.WriteString(d.stdin, text+"\n")
	require.NoError(d.t, err)
	require.Zero(d.t, d.pids(1)[0])
}

// guardian returns the guardian's pid.
func (d *doomed) guardian() (guardian int) {
	d.t.Helper()
	eventually(d.t, "there is a guardian", func() bool {
		for _, pid := range childPIDs(d.cmd.Process.Pid) {
			if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(text) == process.GuardianName+"\x00" {
				guardian = pid
			}
		}
		return guardian != 0
	})
	return guardian
}

// kill kills the process and waits until its guardian has ended everything.
func (d *doomed) kill() {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Kill())
	require.Empty(d.t, d.guardianEnds())
	_ = d.cmd.Wait()
	d.silent()
}

// guardianEnds waits for the guardian's end and returns what it and the process
// wrote to stdout.
func (d *doomed) guardianEnds() string {
	d.t.Helper()
	require.NoError(d.t, d.stdout.SetReadDeadline(time.Now().Add(patience)))
	text, err := io.ReadAll(d.stdout)
	require.NoError(d.t, err, "the guardian still works")
	return string(text)
}

package process_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/process"
)

const (
	// deniedEnv makes this program one that starts the program in the variable,
	// tries to end it, and prints what became of it.
	deniedEnv = "PROCESS_TEST_DENIED"
	// sudoEnv makes this program root, if it is a setuid program, for good.
	sudoEnv = "PROCESS_TEST_SUDO"
)

func runDenied() {
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	here, there, _ := os.Pipe()
	table := process.NewTable(nil)
	g, err := table.Start(process.Spec{
		Path: "/bin/bash", Args: []string{"bash", "-c", `sleep 1000 & "$PROCESS_TEST_DENIED" & wait`}, Dir: "/",
		Env: append(os.Environ(), sudoEnv+"=1"), Files: []*os.File{null, null, null, there},
	})
	if err != nil {
		panic(err)
	}
	there.Close()
	var pid int
	if _, err := fmt.Fscan(here, &pid); err != nil {
		panic(err)
	}
	ended := g.End(syscall.SIGTERM, 0)
	fmt.Println(pid, ended, g.LeaderLives(), g.Members())
}

func runSudo() {
	tell := os.NewFile(3, "tell")
	if syscall.Setuid(0) != nil {
		fmt.Fprintln(tell, 0)
		return
	}
	fmt.Fprintln(tell, os.Getpid())
	time.Sleep(time.Hour)
}

// A process of another user outlives End, which says so and ends the rest.
func TestEndOfAnotherUsersProcess(t *testing.T) {
	const nobody = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that runs as root")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // nobody gets there
	program, sudo := filepath.Join(dir, "program"), filepath.Join(dir, "sudo")
	copyProgram(t, program, 0o755)
	copyProgram(t, sudo, 0o755|os.ModeSetuid)

	cmd := exec.Command(program)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), deniedEnv + "=" + sudo}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	number, rest, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(number)
	require.NoError(t, err)
	if pid == 0 {
		t.Skip("a setuid program does not become root here: no_new_privs, or nosuid")
	}
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	assert.Equal(t, fmt.Sprintf("false false [{%d %s}]\n", pid, sudo), rest)
}

func copyProgram(t *testing.T, to string, mode os.FileMode) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(self)
	require.NoError(t, err)
	defer from.Close()
	file, err := os.Create(to)
	require.NoError(t, err)
	defer file.Close()
	_, err = io.Copy(file, from)
	require.NoError(t, err)
	require.NoError(t, file.Chmod(mode))
}

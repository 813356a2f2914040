//go:build unix

package main

import (
	"encoding/json"
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

	"bashplugin/shared"
)

// sudoEnv makes this program root, if it is a setuid program, and one that
// writes its pid to the file in the variable and stays: 0 where it is not root.
const sudoEnv = "HOST_EXAMPLE_TEST_SUDO"

func runSudo(file string) {
	pid := os.Getpid()
	if syscall.Setuid(0) != nil {
		pid = 0
	}
	_ = os.WriteFile(file, fmt.Appendln(nil, pid), 0o644)
	if pid != 0 {
		time.Sleep(time.Hour)
	}
}

// A host that may not end what its command has become says so.
func TestWhatRunsAsAnotherUserIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		stdin string // the command's place is %s
		code  int
		want  string // on stderr
	}{
		"run":       {[]string{"run", "%s"}, "", toolError, "a process could not be ended: it hangs in the kernel, or runs as another user"},
		"run -json": {[]string{"run", "-json", "%s"}, "", toolError, "a process could not be ended: it hangs in the kernel, or runs as another user"},
		"mcp": {[]string{"mcp"}, initialize + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"%s"}}}` + "\n",
			1, "a process could not be ended: it hangs in the kernel, or runs as another user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, file := asNobody(t)
			command := "./sudo & while [ ! -s " + file + " ] && kill -0 $!; do sleep 0.01; done"
			for _, arg := range c.args {
				cmd.Args = append(cmd.Args, strings.ReplaceAll(arg, "%s", command))
			}
			cmd.Stdin = io.MultiReader(strings.NewReader(strings.ReplaceAll(c.stdin, "%s", command)), endOnce(file))
			r := finish(t, cmd)
			text, err := os.ReadFile(file)
			require.NoError(t, err, r.stderr)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			if pid == 0 {
				t.Skip("a setuid program does not become root here: no_new_privs, or nosuid")
			}
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			assert.Equal(t, c.code, r.code, r.stderr)
			assert.Contains(t, r.stderr, c.want)
			if name == "run -json" {
				var result shared.Result
				require.NoError(t, json.Unmarshal([]byte(r.stdout), &result), "stdout has the Result alone")
				assert.Equal(t, command, result.Command)
			}
		})
	}
}

func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	inside := t.TempDir()
	for _, dir := range []string{filepath.Dir(inside), inside} { // only its owner may enter the first
		cmd, _ := asNobody(t)
		cmd.Args = append(cmd.Args, "run", "-dir", dir, "pwd")
		r := finish(t, cmd)
		assert.NotZero(t, r.code)
		assert.Empty(t, r.stdout)
		assert.Contains(t, r.stderr, dir)
		assert.Contains(t, r.stderr, "permission denied")
	}
}

// endOnce is a file that ends when another one has something in it.
type endOnce string

func (file endOnce) Read([]byte) (int, error) {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(string(file)); err == nil && info.Size() > 0 {
			break
		}
	}
	return 0, io.EOF
}

// asNobody returns host-example as a program of the user nobody, in whose
// directory is a program sudo, and the file to which that writes.
func asNobody(t *testing.T) (cmd *exec.Cmd, file string) {
	t.Helper()
	const nobody = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that runs as root")
	}
	dir, err := os.MkdirTemp("", "nobody-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // past the umask
	self, err := os.Executable()
	require.NoError(t, err)
	for name, from := range map[string]string{
		"host-example": filepath.Join(programs, "host-example"), "bash-plugin": filepath.Join(programs, "bash-plugin"), "sudo": self,
	} {
		// Not by this process: a command that starts meanwhile would hold the file open.
		out, err := exec.Command("cp", from, filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "sudo"), 0o755|os.ModeSetuid))
	file = filepath.Join(dir, "pid")
	cmd = exec.Command(filepath.Join(dir, "host-example"))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, sudoEnv + "=" + file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.WaitDelay = hang
	return cmd, file
}

package shared_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

const (
	// userEnv makes this program the plugin in pluginEnv, as the user in the variable.
	userEnv = "SHARED_TEST_USER"
	// lacksEnv makes it that plugin on a kernel that seems to lack the system call in
	// the variable.
	lacksEnv  = "SHARED_TEST_LACKS"
	pluginEnv = "SHARED_TEST_PLUGIN"

	nobody = 65534
)

func init() {
	plugin := os.Getenv(pluginEnv)
	if plugin == "" {
		return
	}
	var err error
	if uid, _ := strconv.Atoi(os.Getenv(userEnv)); uid != 0 {
		err = errorsOf(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
	}
	if call, _ := strconv.Atoi(os.Getenv(lacksEnv)); call != 0 && err == nil {
		err = forbid(uint32(call))
	}
	if err == nil {
		os.Unsetenv(pluginEnv)
		err = syscall.Exec(plugin, append([]string{plugin}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// forbid makes a system call of this thread, and what it executes, seem not to exist.
func forbid(call uint32) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // the thread that executes the plugin
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// yard is a place for confined commands, which run in inside as the owner of all of it.
type yard struct {
	root, inside, outside string
	uid                   int
	env                   []string // of a plugin
}

// newYard makes a yard of a user, and in each of its two folders something to attack.
func newYard(t *testing.T, uid int) *yard {
	t.Helper()
	root, err := os.MkdirTemp("", "yard-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	y := &yard{root: root, inside: filepath.Join(root, "inside"), outside: filepath.Join(root, "outside"), uid: uid}
	y.env = []string{"TMPDIR=" + filepath.Join(root, "tmp"), pluginEnv + "=" + pluginPath, userEnv + "=" + strconv.Itoa(uid)}
	require.NoError(t, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	y.reset(t)
	return y
}

// reset makes everything in the yard anew.
func (y *yard) reset(t *testing.T) {
	t.Helper()
	for _, dir := range []string{y.inside, y.outside} {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("secret\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\necho secret\n"), 0o755))
	}
	require.NoError(t, filepath.WalkDir(y.root, func(path string, _ fs.DirEntry, err error) error {
		return errorsOf(err, os.Lchown(path, y.uid, -1))
	}))
}

// look describes what is outside.
func (y *yard) look(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(y.outside, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		var text []byte
		if entry.Type().IsRegular() {
			text, _ = os.ReadFile(path)
		}
		fmt.Fprintf(&all, "%s %s %q\n", path, entry.Type(), text)
		return nil
	}))
	return all.String()
}

// launch starts a plugin of the yard's user.
func (y *yard) launch(t *testing.T, confine *shared.Confine) *host.Client {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return launchWith(t, host.LaunchConfig{Path: self, Dir: y.inside, Env: append(y.env, "OUT="+y.outside, "IN="+y.inside), LogDir: filepath.Join(y.root, "tmp", "logs"), Confine: confine})
}

// asEachUser is eachUser for a test of confinement, for both users at the same time.
func asEachUser(t *testing.T, test func(t *testing.T, y *yard)) {
	t.Helper()
	needsConfine(t)
	eachUser(t, func(t *testing.T, y *yard) {
		t.Parallel()
		test(t, y)
	})
}

// eachUser runs a test as root and as an ordinary user, as far as this one may.
func eachUser(t *testing.T, test func(t *testing.T, y *yard)) {
	t.Helper()
	users := map[string]int{"as this user": os.Getuid()}
	if os.Getuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(pluginPath), 0o755))
		users = map[string]int{"as root": 0, "as an ordinary user": nobody}
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) { test(t, newYard(t, uid)) })
	}
}

// needsConfine skips a test where the kernel cannot keep a Confine, and says why.
func needsConfine(t *testing.T) {
	t.Helper()
	_, err := launch(t).Execute(t.Context(), shared.ExecuteRequest{Command: "true", Confine: &shared.Confine{ReadOnly: true, NoNetwork: true}})
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 6 {
		require.ErrorIs(t, err, shared.ErrStart)
		t.Skip(err)
	}
	require.NoError(t, err, "this kernel can keep it")
}

// python returns a command that runs a program in Python, which can make the system
// calls that no tool makes.
func python(t *testing.T, program string) string {
	t.Helper()
	const path = "/usr/bin/python3"
	if _, err := exec.LookPath(path); err != nil {
		t.Skip("there is no " + path)
	}
	return path + " - <<'END'\nimport ctypes, os, socket, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n" + program + "\nEND"
}

// says asserts that a command prints a text on either stream.
func says(t *testing.T, r *shared.Result, text string) {
	t.Helper()
	assert.Contains(t, r.Stdout.Content+r.Stderr.Content, text, r.Command)
}

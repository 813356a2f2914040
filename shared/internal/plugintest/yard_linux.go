package plugintest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
)

const (
	// userEnv makes this program the plugin in pluginEnv, as the user in the variable.
	userEnv = "SHARED_TEST_USER"
	// LacksEnv makes it that plugin on a kernel that seems to lack the system call in
	// the variable.
	LacksEnv  = "SHARED_TEST_LACKS"
	pluginEnv = "SHARED_TEST_PLUGIN"

	// Nobody is a user without rights.
	Nobody = 65534
)

// actAsPlugin executes the plugin if this program was started for that.
func actAsPlugin() {
	plugin := os.Getenv(pluginEnv)
	if plugin == "" {
		return
	}
	var err error
	if uid, _ := strconv.Atoi(os.Getenv(userEnv)); uid != 0 {
		err = firstOf(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
	}
	if call, _ := strconv.Atoi(os.Getenv(LacksEnv)); call != 0 && err == nil {
		err = forbid(uint32(call))
	}
	if err == nil {
		_ = os.Unsetenv(pluginEnv)
		err = syscall.Exec(plugin, append([]string{plugin}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func firstOf(errs ...error) error {
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
	const filterMode = unix.SECCOMP_SET_MODE_FILTER
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, filterMode, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// Yard is a place for confined commands, which run in inside as the owner of all of it.
type Yard struct {
	Root, Inside, Outside string
	UID                   int
	Env                   []string // of a plugin
}

// NewYard makes a yard of a user, and in each of its two folders something to attack.
func NewYard(t testing.TB, uid int) *Yard {
	t.Helper()
	root, err := os.MkdirTemp("", "yard-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	y := &Yard{Root: root, Inside: filepath.Join(root, "inside"), Outside: filepath.Join(root, "outside"), UID: uid}
	y.Env = []string{
		"TMPDIR=" + filepath.Join(root, "tmp"),
		pluginEnv + "=" + Path,
		userEnv + "=" + strconv.Itoa(uid),
	}
	require.NoError(t, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	y.Reset(t)
	return y
}

// Reset makes everything in the yard anew.
func (y *Yard) Reset(t testing.TB) {
	t.Helper()
	for _, dir := range []string{y.Inside, y.Outside} {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("secret\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\necho secret\n"), 0o755))
	}
	require.NoError(t, filepath.WalkDir(y.Root, func(path string, _ fs.DirEntry, err error) error {
		return firstOf(err, os.Lchown(path, y.UID, -1))
	}))
}

// Look describes what is outside.
func (y *Yard) Look(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(y.Outside, func(path string, entry fs.DirEntry, err error) error {
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

// Launch starts a plugin of the yard's user.
func (y *Yard) Launch(t testing.TB, confine *shared.Confine) *host.Client {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return LaunchWith(t, host.LaunchConfig{
		Path:    self,
		Dir:     y.Inside,
		Env:     append(y.Env, "OUT="+y.Outside, "IN="+y.Inside),
		LogDir:  filepath.Join(y.Root, "tmp", "logs"),
		Confine: confine,
	})
}

// AsEachUser is EachUser for a test of confinement, for both users at the same time.
func AsEachUser(t *testing.T, test func(t *testing.T, y *Yard)) {
	t.Helper()
	NeedsConfine(t)
	EachUser(t, func(t *testing.T, y *Yard) {
		t.Parallel()
		test(t, y)
	})
}

// EachUser runs a test as root and as an ordinary user, as far as this one may.
func EachUser(t *testing.T, test func(t *testing.T, y *Yard)) {
	t.Helper()
	users := map[string]int{"as this user": os.Getuid()}
	if os.Getuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(Path), 0o755))
		users = map[string]int{"as root": 0, "as an ordinary user": Nobody}
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) { test(t, NewYard(t, uid)) })
	}
}

// NeedsConfine skips a test where the kernel cannot keep a Confine, and says why.
func NeedsConfine(t testing.TB) {
	t.Helper()
	confine.once.Do(func() {
		req := shared.ExecuteRequest{Command: "true", Confine: &shared.Confine{ReadOnly: true, NoNetwork: true}}
		_, confine.err = Launch(t).Execute(t.Context(), req)
	})
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 6 {
		require.ErrorIs(t, confine.err, shared.ErrStart)
		t.Skip(confine.err)
	}
	require.NoError(t, confine.err, "this kernel can keep it")
}

// confine is what the plugin says about a confinement on this kernel.
var confine struct {
	once sync.Once
	err  error
}

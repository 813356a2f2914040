package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/process"
)

// startPeer is start for a command with peers.
func startPeer(t *testing.T, peers *process.Peers, text string) *command {
	t.Helper()
	here, there, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { here.Close() })
	defer there.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	s := spec(text, null, there)
	s.Peers = peers
	g, err := table().Start(s)
	require.NoError(t, err)
	t.Cleanup(func() { g.End(syscall.SIGKILL, 0) })
	return &command{g, t, bufio.NewReader(here)}
}

// filtered returns the number of a thread that has a seccomp filter, as those of confined
// commands have. It lives as long as the test.
func filtered(t *testing.T) int {
	t.Helper()
	allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	program := unix.SockFprog{Len: uint16(len(allow)), Filter: &allow[0]}
	thread := make(chan int)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		runtime.LockOSThread() // and never unlock it
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
		thread <- unix.Gettid()
		<-over
	}()
	return <-thread
}

func always() bool { return true }

func TestSignalPeer(t *testing.T) {
	peers := new(process.Peers)
	one := startPeer(t, peers, `bash -c "$p" & wait`)
	other := startPeer(t, peers, `bash -c "$p" & echo $$ >&3; wait`)
	stranger := startPeer(t, new(process.Peers), `eval "$p"`)
	unconfined := start(t, `eval "$p"`)
	deep := startPeer(t, peers, `f() { if (( $1 )); then ( f $(($1-1)) ); true; else bash -c "$p"; true; fi; }; f 150`)
	own := one.pids(1)[0]
	peer := other.pids(2)
	thread := filtered(t)
	for name, c := range map[string]struct {
		thread int
		waits  func() bool
		pid    int
	}{
		"its own":                     {thread, always, own},
		"its own group":               {thread, always, -one.PID},
		"another session's":           {thread, always, stranger.pids(1)[0]},
		"another session's group":     {thread, always, -stranger.PID},
		"unconfined":                  {thread, always, unconfined.pids(1)[0]},
		"this process":                {thread, always, os.Getpid()},
		"the parent":                  {thread, always, os.Getppid()},
		"all":                         {thread, always, -1},
		"the thread's group":          {thread, always, 0},
		"nobody":                      {thread, always, 1 << 22},
		"nobody's group":              {thread, always, -1 << 31},
		"too far below":               {thread, always, deep.pids(1)[0]},
		"a call that waits no longer": {thread, func() bool { return false }, peer[0]},
		"a thread that has ended":     {1 << 22, always, peer[0]},
		"a thread without a filter":   {os.Getpid(), always, peer[0]},
	} {
		_, done := one.SignalPeer(c.thread, c.waits, c.pid, syscall.SIGKILL)
		assert.False(t, done, name)
	}
	for _, pid := range []int{peer[0], peer[1], other.PID, -other.PID} {
		errno, done := one.SignalPeer(thread, always, pid, 0)
		assert.True(t, done)
		assert.Zero(t, errno)
		errno, done = one.SignalPeer(thread, always, pid, 99)
		assert.True(t, done)
		assert.Equal(t, unix.EINVAL, errno)
	}
	_, done := one.SignalPeer(thread, always, -other.PID, syscall.SIGKILL)
	assert.True(t, done)
	closed(t, "the peer's end", other.Gone())
	for _, g := range []*command{one, stranger, unconfined, deep} {
		assert.True(t, g.LeaderLives())
	}
}

// The number of a bash that has ended, of which a daemon lives, becomes another program's.
func TestSignalPeerWhosePIDIsAnotherPrograms(t *testing.T) {
	peers := new(process.Peers)
	one := startPeer(t, peers, `eval "$p"`)
	one.pids(1)
	var old *command
	nextPID(farPID(t), func() { old = startPeer(t, peers, `(env -i setsid bash -c "$p" >/dev/null 2>&1 &)`) })
	daemon := old.pids(1)[0]
	closed(t, "bash has ended", old.Exited())
	var foreign *exec.Cmd
	end := func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	}
	asPID(t, old.PID, func() (int, func()) {
		foreign = exec.Command("sleep", "1000")
		foreign.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		require.NoError(t, foreign.Start())
		return foreign.Process.Pid, end
	})
	defer end()
	thread := filtered(t)
	for _, pid := range []int{old.PID, -old.PID} {
		_, done := one.SignalPeer(thread, always, pid, syscall.SIGKILL)
		assert.False(t, done)
	}
	assert.True(t, lives(old.PID))
	_, done := one.SignalPeer(thread, always, daemon, syscall.SIGKILL)
	assert.True(t, done)
	closed(t, "the daemon's end", old.Gone())
}

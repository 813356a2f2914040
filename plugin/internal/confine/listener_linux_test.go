package confine

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// restricted runs f on a thread that a session's Confine restricts, and that ends then.
func restricted(t *testing.T, f func(restrict func() *Listener)) {
	t.Helper()
	plan, err := NewPlan([]shared.Confine{{NoNetwork: true}}, nil, "/", false)
	if err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f(func() *Listener {
			listener, err := plan.Restrict("/bin/bash", "", "")
			assert.NoError(t, err)
			return listener
		})
	}()
	<-done
}

func TestAListenerAnswersAsItIsTold(t *testing.T) {
	restricted(t, func(restrict func() *Listener) {
		listener := restrict()
		if !assert.NotNil(t, listener) {
			return
		}
		thread := unix.Gettid()
		listeners, err := NewListeners()
		if !assert.NoError(t, err) {
			return
		}
		listeners.Add(listener, func(caller int, waits func() bool, pid int, sig syscall.Signal) (syscall.Errno, bool) {
			assert.Equal(t, thread, caller)
			assert.True(t, waits())
			switch pid {
			case 1:
				return unix.Errno(sig), true
			case -1 << 31:
				return unix.ELOOP, true
			}
			return unix.ELOOP, false
		})
		for range 100 {
			assert.NoError(t, unix.Kill(1, 0))
			assert.Equal(t, unix.EDOM, unix.Kill(1, unix.Signal(unix.EDOM)))
			assert.Equal(t, unix.ELOOP, unix.Kill(-1<<31, 0))
			assert.NoError(t, unix.Kill(os.Getpid(), 0), "the kernel decides")
			assert.Equal(t, unix.EPERM, unix.Kill(os.Getppid(), 0), "the kernel decides")
		}
		listeners.Close()
		assert.Equal(t, unix.ENOSYS, unix.Kill(1, 0))
	})
}

// The kernel knows one listener for all filters of a process: a command of a plugin that runs
// within a command is confined without one.
func TestAListenerBelowAnother(t *testing.T) {
	restricted(t, func(restrict func() *Listener) {
		first := restrict()
		assert.NotNil(t, first)
		assert.Nil(t, restrict())
		new(Listeners).Remove(first)
	})
}

func TestATighterRequestHasNoListener(t *testing.T) {
	network := shared.Confine{NoNetwork: true, BestEffort: true}
	for name, c := range map[string]struct {
		session   shared.Confine
		request   *shared.Confine
		asSession bool
	}{
		"as its session":      {network, nil, true},
		"a zero request":      {network, &shared.Confine{}, true},
		"a request":           {network, &network, false},
		"without a session's": {shared.Confine{}, &network, false},
		"nothing":             {shared.Confine{}, nil, false},
	} {
		var session []shared.Confine
		if c.session.Confines() {
			session = append(session, c.session)
		}
		plan, err := NewPlan(session, c.request, "/", true)
		require.NoError(t, err)
		assert.Equal(t, c.asSession, plan.asSession, name)
	}
}

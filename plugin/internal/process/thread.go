package process

import "runtime"

// thread is a thread of this process that forks commands: the kernel counts them, and what
// they start with CLONE_PARENT, as its children.
type thread struct {
	id int // as the system numbers it

	// calls are run one after the other, until close closes the channel.
	calls chan func()
}

func newThread() *thread {
	t := &thread{calls: make(chan func())}
	started := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlock it, so that the thread ends with this goroutine
		started <- threadID()
		for call := range t.calls {
			call()
		}
	}()
	t.id = <-started
	return t
}

// do runs f on the thread.
func (t *thread) do(f func()) {
	panicked := make(chan any)
	t.calls <- func() {
		defer func() { panicked <- recover() }()
		f()
	}
	if p := <-panicked; p != nil {
		panic(p) // on the caller's goroutine
	}
}

// close ends the thread, which nobody uses any more. The commands that it forked go on.
func (t *thread) close() { close(t.calls) }

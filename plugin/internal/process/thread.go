package process

import "runtime"

// Thread is a thread of this process that forks commands. What restricts the thread
// restricts every command that it forks, and nothing else. It is safe for concurrent use.
type Thread struct {
	calls chan func() // run one after the other; closed by Close
}

// NewThread starts a thread, which calls restrict on itself. The caller must Close it.
func NewThread(restrict func() error) (*Thread, error) {
	t := &Thread{calls: make(chan func())}
	restricted := make(chan error)
	go t.run(restrict, restricted)
	if err := <-restricted; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Thread) run(restrict func() error, restricted chan<- error) {
	runtime.LockOSThread() // and never unlock it, so that the thread ends with this goroutine
	err := restrict()
	restricted <- err
	if err != nil {
		return
	}
	for call := range t.calls {
		call()
	}
}

// do runs f on the thread, that of a nil Thread on any.
func (t *Thread) do(f func()) {
	if t == nil {
		f()
		return
	}
	panicked := make(chan any)
	t.calls <- func() {
		defer func() { panicked <- recover() }()
		f()
	}
	if p := <-panicked; p != nil {
		panic(p) // where it concerns one command
	}
}

// Close ends the thread, which nobody uses any more. The commands that it forked go on.
func (t *Thread) Close() { close(t.calls) }

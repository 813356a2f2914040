package job

import (
	"fmt"
	"runtime/debug"
	"syscall"

	"bashplugin/shared"
)

// Guard calls f. A panic there, which is a bug of this tool, ends the job and nothing else.
func (j *Job) Guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(p, debug.Stack())
		}
	}()
	f()
}

// fail ends the job after a panic.
func (j *Job) fail(p any, stack []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log.Error("a command was ended after a panic", "pid", j.PID, "panic", p, "stack", string(stack))
	if j.failure != nil {
		return
	}
	j.failure = &shared.Error{
		Code:    shared.CodeInternal,
		Message: fmt.Sprintf("the plugin ended this command because of a bug of its own: panic: %v", p),
	}
	if j.group != nil {
		go j.group.End(syscall.SIGKILL, 0)
	}
}

// Failure returns why the job has no outcome; nil: it has one.
func (j *Job) Failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

package shared

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A jobBook is bounded: it remembers the last jobs.
func TestJobBookRemembersTheLastJobs(t *testing.T) {
	t.Parallel()
	var book jobBook
	const plugin, first, last = 1, 1000, 1000 + 2*maxBookedJobs
	for pid := first; pid <= last; pid++ {
		job := Result{PID: pid, Status: StatusRunning}
		book.note(plugin, &job)
		job.Stdout.Path = "/log"
		book.note(plugin, &job)
		book.note(plugin, &Result{PID: last + pid, Status: StatusCompleted}) // a plain command
	}
	assert.Len(t, book.jobs, maxBookedJobs)
	explain := func(pid int) error {
		return book.explain(plugin+1, pid, &Error{Code: CodeNotFound, Message: "no job"})
	}
	err := explain(last)
	assert.ErrorIs(t, err, ErrNotFound)
	assert.ErrorIs(t, err, ErrCrashed)
	assert.Contains(t, err.Error(), "/log")
	assert.ErrorIs(t, explain(last-maxBookedJobs+1), ErrCrashed)
	assert.False(t, errors.Is(explain(last-maxBookedJobs), ErrCrashed), "the oldest is forgotten")
	assert.False(t, errors.Is(explain(last+first), ErrCrashed), "no job")
}

// A later plugin may have a job with the pid of an earlier one's.
func TestJobBookKnowsWhichPluginHadAJob(t *testing.T) {
	t.Parallel()
	var book jobBook
	unknown := &Error{Code: CodeNotFound, Message: "no job"}
	book.note(1, &Result{PID: 7, Status: StatusRunning})
	book.note(2, &Result{PID: 7, Status: StatusRunning})
	assert.Equal(t, unknown, book.explain(2, 7, unknown))
	assert.ErrorIs(t, book.explain(3, 7, unknown), ErrCrashed)
	book.forget(7)
	assert.Equal(t, unknown, book.explain(3, 7, unknown))
}

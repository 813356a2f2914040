package host

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
)

// A jobBook is bounded: it remembers the last jobs.
func TestJobBookRemembersTheLastJobs(t *testing.T) {
	t.Parallel()
	var book jobBook
	const plugin, first, last = 1, 1000, 1000 + 2*maxBookedJobs
	for pid := first; pid <= last; pid++ {
		job := shared.Result{PID: pid, Status: shared.StatusRunning}
		book.note(plugin, &job)
		job.Stdout.Path = "/log"
		book.note(plugin, &job)
		book.note(plugin, &shared.Result{PID: last + pid, Status: shared.StatusCompleted}) // a plain command
	}
	assert.Len(t, book.jobs, maxBookedJobs)
	explain := func(pid int) error {
		return book.explain(plugin+1, pid, &shared.Error{Code: shared.CodeNotFound, Message: "no job"})
	}
	err := explain(last)
	assert.ErrorIs(t, err, shared.ErrNotFound)
	assert.ErrorIs(t, err, shared.ErrCrashed)
	assert.Contains(t, err.Error(), "/log")
	assert.ErrorIs(t, explain(last-maxBookedJobs+1), shared.ErrCrashed)
	assert.False(t, errors.Is(explain(last-maxBookedJobs), shared.ErrCrashed), "the oldest is forgotten")
	assert.False(t, errors.Is(explain(last+first), shared.ErrCrashed), "no job")
}

// A later plugin may have a job with the pid of an earlier one's.
func TestJobBookKnowsWhichPluginHadAJob(t *testing.T) {
	t.Parallel()
	var book jobBook
	unknown := &shared.Error{Code: shared.CodeNotFound, Message: "no job"}
	book.note(1, &shared.Result{PID: 7, Status: shared.StatusRunning})
	book.note(2, &shared.Result{PID: 7, Status: shared.StatusRunning})
	assert.Equal(t, unknown, book.explain(2, 7, unknown))
	assert.ErrorIs(t, book.explain(3, 7, unknown), shared.ErrCrashed)
	book.forget(7)
	assert.Equal(t, unknown, book.explain(3, 7, unknown))
}

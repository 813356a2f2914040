package host

import (
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
	err := book.check(plugin+1, last)
	assert.ErrorIs(t, err, shared.ErrNotFound)
	assert.ErrorIs(t, err, shared.ErrCrashed)
	assert.Contains(t, err.Error(), "/log")
	assert.ErrorIs(t, book.check(plugin+1, last-maxBookedJobs+1), shared.ErrCrashed)
	assert.NoError(t, book.check(plugin+1, last-maxBookedJobs), "the oldest is forgotten")
	assert.NoError(t, book.check(plugin+1, last+first), "no job")
}

// A later plugin may have a job with the pid of an earlier one's.
func TestJobBookKnowsWhichPluginHadAJob(t *testing.T) {
	t.Parallel()
	var book jobBook
	book.note(1, &shared.Result{PID: 7, Status: shared.StatusRunning, Leftover: []shared.Process{{PID: 8}}})
	assert.NoError(t, book.check(1, 8))
	assert.ErrorIs(t, book.check(2, 8), shared.ErrCrashed, "one of its processes")
	book.note(2, &shared.Result{PID: 7, Status: shared.StatusRunning})
	assert.NoError(t, book.check(2, 7))
	assert.ErrorIs(t, book.check(3, 7), shared.ErrCrashed)
	book.forget(7)
	assert.NoError(t, book.check(3, 7))
}

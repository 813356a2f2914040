package shared

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A jobBook is bounded: it remembers the last jobs.
func TestJobBookRemembersTheLastJobs(t *testing.T) {
	t.Parallel()
	book := newJobBook()
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	const plugin, first, last = 1, 1000, 1000 + 2*maxJobs
	for pid := first; pid <= last; pid++ {
		job := Result{PID: pid, Command: "server", Status: StatusRunning}
		book.note(plugin, &job)
		job.Status, job.Stdout.Path = StatusCompleted, log
		book.note(plugin, &job)
		book.note(plugin, &Result{PID: last + pid, Status: StatusCompleted}) // a plain command
	}
	assert.Len(t, book.jobs, maxJobs)
	assert.Len(t, book.pids, maxJobs)
	explain := func(pid int) error {
		return book.explain(plugin+1, pid, &Error{Code: CodeNotFound, Message: "no job"})
	}
	err := explain(last)
	assert.ErrorIs(t, err, ErrNotFound)
	assert.ErrorIs(t, err, ErrCrashed)
	assert.Contains(t, err.Error(), "server")
	assert.Contains(t, err.Error(), log)
	require.NoError(t, os.Remove(log))
	assert.NotContains(t, explain(last).Error(), log, "it went with the retention")
	assert.ErrorIs(t, explain(last-maxJobs+1), ErrCrashed)
	assert.False(t, errors.Is(explain(last-maxJobs), ErrCrashed), "the oldest is forgotten")
	assert.False(t, errors.Is(explain(last+first), ErrCrashed), "no job")
}

// The pid of a job may be used again by a later plugin's.
func TestJobBookKnowsWhichPluginHadAJob(t *testing.T) {
	t.Parallel()
	book := newJobBook()
	unknown := &Error{Code: CodeNotFound, Message: "no job"}
	book.note(1, &Result{PID: 7, Command: "old", Status: StatusRunning})
	book.note(2, &Result{PID: 7, Command: "new", Status: StatusRunning})
	assert.Equal(t, unknown, book.explain(2, 7, unknown))
	assert.ErrorContains(t, book.explain(3, 7, unknown), "new")
	book.forget(AllJobs, &Result{Jobs: []Result{{PID: 7}}})
	assert.Equal(t, unknown, book.explain(3, 7, unknown))
	assert.Empty(t, book.pids)
}

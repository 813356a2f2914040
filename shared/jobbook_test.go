package shared

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However many jobs come and go, those that live are remembered.
func TestJobBookRemembersLiveJobs(t *testing.T) {
	book := newJobBook()
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	const old, live = 1, 1000
	unknown := &Error{CodeNotFound, "no job"}
	book.note(old, &Result{PID: live, Command: "server", Status: StatusRunning, Stdout: Output{Path: log}})
	for pid := live + 1; pid < live+10*maxJobs; pid++ {
		book.note(old, &Result{PID: pid, Command: "short", Status: StatusRunning})
		book.note(old, &Result{PID: pid, Command: "short", Status: StatusCompleted})
	}
	assert.LessOrEqual(t, len(book.jobs), maxJobs)
	err := book.explain(old+1, live, unknown)
	assert.ErrorIs(t, err, ErrCrashed)
	assert.Contains(t, err.Error(), "server")
	assert.Contains(t, err.Error(), log)
	require.NoError(t, os.Remove(log))
	assert.NotContains(t, book.explain(old+1, live, unknown).Error(), log, "it went with the retention")
	assert.ErrorIs(t, book.explain(old+1, live+10*maxJobs-1, unknown), ErrCrashed, "the newest of the others, too")
	assert.False(t, errors.Is(book.explain(old+1, live+1, unknown), ErrCrashed), "the oldest is forgotten")
}

package shared

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/session"
)

// lie is a list of jobs as a plugin could send it.
type lie []lyingJob

type lyingJob struct {
	PID  int
	Jobs *lie
}

func (l lie) GobEncode() ([]byte, error) { return session.Encode([]lyingJob(l)) }

func (l *lie) GobDecode([]byte) error { return nil }

// A plugin that lists more jobs than there can be, or jobs of jobs, must not cost its host memory.
func TestAPluginThatLiesAboutJobs(t *testing.T) {
	many := make(lie, 500_000)
	for says, jobs := range map[string]lie{
		"lists 500000 jobs": many,
		"jobs of a job":     {{PID: 1, Jobs: &many}},
	} {
		text, err := session.Encode(struct{ Jobs lie }{jobs})
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = session.Decode[Result](text)
		runtime.ReadMemStats(&after)
		assert.ErrorContains(t, err, says)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), says)
	}
	honest := Result{Jobs: JobList{{PID: 7}, {PID: 8, Command: "true"}}}
	text, err := session.Encode(honest)
	require.NoError(t, err)
	got, err := session.Decode[Result](text)
	require.NoError(t, err)
	assert.Equal(t, honest, got)
}

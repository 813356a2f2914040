package remote

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
)

// Confined commands of one session signal each other, and those of another session not.
func TestSignalsStayInTheirSession(t *testing.T) {
	t.Parallel()
	plugintest.NeedsConfine(t)
	p := serveRemote(t, []string{"-confine", `{"ReadOnly": true}`})
	one, other := p.connect(t), p.connect(t)
	job := plugintest.Background(t, one, "exec sleep 1000")
	for _, number := range []int{job.PID, -job.PID} {
		r := plugintest.Run(t, other, fmt.Sprintf("kill -0 -- %d", number))
		assert.Contains(t, r.Stderr.Content, "Operation not permitted")
		r = plugintest.Run(t, one, fmt.Sprintf("kill -0 -- %d", number))
		assert.Equal(t, shared.StatusCompleted, r.Status, "%s", r)
	}
}

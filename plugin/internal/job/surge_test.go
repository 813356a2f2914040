package job

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"bashplugin/plugin/internal/output"
	"bashplugin/shared"
)

// clock returns a clock that is by step later at each look.
func clock(step time.Duration) func() time.Time {
	now := time.Now()
	return func() time.Time {
		now = now.Add(step)
		return now
	}
}

// surging returns a copy whose backlog has room, each chunk of which comes step
// after the one before. A log takes 2*surgeFree.
func surging(t *testing.T, to io.Writer, step time.Duration) *copied {
	c := newCopied(t, output.LogsConfig{MaxBytes: 2 * surgeFree}, to, nil)
	c.now = clock(step)
	c.backlog.taken = 1 << 40
	return c
}

func TestLiveLeavesOutMostOfASurge(t *testing.T) {
	text := noise(2 * surgeFree)
	for name, flood := range map[string][]byte{"binary": text, "NULs": make([]byte, len(text))} {
		t.Run(name, func(t *testing.T) {
			w := newStuck()
			c := surging(t, w, 0)
			c.flood(flood)
			assert.Greater(t, c.behind(), int64(len(flood))-liveBacklog, "with what was left out")
			write(c.stdout, []byte("\nwhat comes last\n"))
			c.finish(w.gate)
			assert.Equal(t, 1, strings.Count(w.String(), "bytes skipped"))
			rest, n := skipped(t, w.String())
			begin, found := strings.CutSuffix(rest, "what comes last\n")
			assert.True(t, found)
			assert.Equal(t, len(flood)+1, len(begin)+n)
			assert.True(t, strings.HasPrefix(string(flood), begin))
			assert.GreaterOrEqual(t, len(begin), surgeFree)
			assert.LessOrEqual(t, len(begin), surgeFree+4*liveBacklog)
		})
	}
}

// What is in the log waits there, however fast it comes, and so does what comes
// before the log has reached its bound.
func TestLiveLeavesNoTextOutOfASurge(t *testing.T) {
	w := newStuck()
	c := surging(t, w, 0)
	c.flood(lines(2 * surgeFree))
	c.mu.Lock()
	assert.Zero(t, c.stdout.gap.size)
	c.mu.Unlock()
	c.flood(lines(2 * surgeFree))
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, 4*surgeFree, len(rest)+n)
	assert.InDelta(t, surgeFree, n, 4*liveBacklog)
}

// What surges is one stream's affair.
func TestLiveLeavesOutNothingOfAnotherStream(t *testing.T) {
	for name, text := range map[string][]byte{"text": lines(4 * remainder), "binary": noise(4 * remainder)} {
		t.Run(name, func(t *testing.T) {
			w := newStuck()
			errs := new(bytes.Buffer)
			c := surging(t, w, 0)
			c.stderr.to = errs
			half := len(text) / 2
			for part := range slices.Chunk(text[:half], chunkSize) { // the copy keeps up
				write(c.stderr, part)
				for c.behind() > 0 {
					<-c.moved
				}
			}
			c.flood(noise(2 * surgeFree))
			write(c.stderr, text[half:])
			c.finish(w.gate)
			assert.Contains(t, w.String(), "bytes skipped")
			assert.True(t, bytes.Equal(text, errs.Bytes()))
		})
	}
}

// A quick reader's copy waits for the end of a flood, too.
func TestLiveIsNotBoundedForWhatIsRepeatedInAWholeOutput(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{}, shared.WholeOutput{Writer: w}, nil)
	c.backlog.spent = time.Hour
	text := make([]byte, 4*spoolBacklog)
	c.flood(text)
	c.finish(w.gate)
	assert.True(t, bytes.Equal(text, w.Bytes()))
}

func TestLiveLeavesNothingOutForAWholeOutput(t *testing.T) {
	w := newStuck()
	c := surging(t, shared.WholeOutput{Writer: w}, 0)
	text := noise(2 * surgeFree)
	c.flood(text)
	c.finish(w.gate)
	assert.True(t, bytes.Equal(text, w.Bytes()))
}

func TestLiveLeavesNothingOutOfASlowerFlood(t *testing.T) {
	w := newStuck()
	c := surging(t, w, surgeTime/(surgeStep/(pipeSize/4)-2))
	text := noise(2 * surgeFree)
	c.flood(text)
	c.finish(w.gate)
	assert.True(t, bytes.Equal(text, w.Bytes()))
}

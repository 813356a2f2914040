package output

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"bashplugin/plugin/internal/bench/input"
)

// A stream answers beside output that edits a long line again and again about as soon as
// beside a progress bar.
func TestShowBesideAFloodOfEdits(t *testing.T) { // not parallel: it measures
	line := strings.Repeat("x", 60_000) + "\b\b"
	_, bar := timeBeside(t, "", string(input.ProgressBar(writeSize)))
	for _, unit := range []string{"\x1b[1K", "\b\x1b[1K", "\rx\x1b[59000G\x1b[1K", "\x1b[2Kx", "\x1b[1Kx", "\x1b[512Gx\n", "\t\b\x1b[1K"} {
		took, _ := timeBeside(t, line, strings.Repeat(unit, writeSize/len(unit)))
		t.Logf("beside %q: %v; the slowest beside a progress bar: %v", unit, took, bar)
		assert.Less(t, took, 100*bar, "%q", unit)
	}
}

// timeBeside returns how long calls take while a chunk is written again and again.
func timeBeside(t *testing.T, before, chunk string) (typical, slowest time.Duration) {
	t.Helper()
	s := newTestStream(t, LogsConfig{MaxBytes: 1 << 20}, StreamConfig{})
	write(t, s, before)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			_, _ = s.Write([]byte(chunk))
		}
	}()
	var took []time.Duration
	for range 20 {
		<-s.Changed() // the next chunk is about to come
		begin := time.Now()
		s.Outline()
		s.Show(defaults, View{})
		s.Written()
		took = append(took, time.Since(begin))
	}
	stop.Store(true)
	<-done
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1]
}

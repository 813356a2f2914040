package sanitize

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/bench/input"
)

// cost returns the least processor time that a chunk takes of a stream that goes on like
// this. Other processes do not count.
func cost(before string, chunk []byte) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	z := New(discard{})
	_, _ = z.Write([]byte(before))
	_, _ = z.Write(chunk)
	least := time.Hour
	for range 4 {
		begin := threadTime()
		_, _ = z.Write(chunk)
		least = min(least, threadTime()-begin)
	}
	return least
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// No bytes cost much more than those of a progress bar: about 20 times as much at most, and
// the rest is for a machine that is busy.
func TestTheCostOfBytes(t *testing.T) {
	const most, chunk = 100, 32 << 10
	bar := cost("", input.ProgressBar(chunk))
	try := func(before, unit string) {
		took := cost(before, []byte(strings.Repeat(unit, chunk/len(unit))))
		if took > most*bar {
			took = cost(before, []byte(strings.Repeat(unit, chunk/len(unit))))
		}
		require.LessOrEqual(t, float64(took)/float64(bar), float64(most), "%d bytes that begin with %.20q, then %q", len(before), before, unit)
	}
	for _, h := range hostile {
		try(h.before, h.unit)
	}
	random := seeded(t)
	parts := []string{
		"\x1b[1K", "\x1b[1K", "\x1b[2K", "\x1b[K", "\r", "\b", "\t", "x", "語", "я", "👍", "\u0301", "\n", "\v", "\x1b[m", "\xff", "\xe6\x9c",
		"\x1b[60000G", "\x1b[512G", "\x1b[400G", "\x1b[2G", "\x1b[9999C", "\x1b[999D", "\x9b", "\x1b]", "\x1bP", "\a",
	}
	for range 30 {
		var unit strings.Builder
		for range 1 + random.IntN(6) {
			times := 1
			if random.IntN(6) == 0 {
				times <<= random.IntN(9)
			}
			unit.WriteString(strings.Repeat(parts[random.IntN(len(parts))], times))
		}
		before := strings.Repeat([]string{"x", "\t", "語", "\rя"}[random.IntN(4)], random.IntN(maxLine)) + "\b\b"
		try(before, unit.String())
	}
}

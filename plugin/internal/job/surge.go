package job

import "time"

// surge tells output of a track that comes faster than a copy of it can be kept
// on disk at less than a tenth of the command's throughput: floods of colours or
// of binary, and of any kind once the log has reached its bound.
type surge struct {
	since time.Time // when the step began
	bytes int       // of the step
	total int64     // of the steps before, each of which came within surgeTime
}

// A surge is 250 MiB a second. Its first surgeFree are kept.
const (
	surgeStep = 8 << 20
	surgeTime = 32 * time.Millisecond
	surgeFree = 32 << 20
)

// took takes note of n bytes and reports whether they are past surgeFree.
func (s *surge) took(n int, now time.Time) bool {
	if !s.lasts(now) {
		*s = surge{since: now}
	}
	if s.bytes += n; s.bytes >= surgeStep {
		s.total += int64(s.bytes)
		s.since, s.bytes = now, 0
	}
	return s.isPast(now)
}

// lasts reports whether the step may still be one of a surge.
func (s *surge) lasts(now time.Time) bool { return now.Sub(s.since) <= surgeTime }

// isPast reports whether there is a surge that is past surgeFree.
func (s *surge) isPast(now time.Time) bool { return s.total >= surgeFree && s.lasts(now) }

package process

import "time"

// stopwatch measures how long processes have been at work. Where others keep all
// processors busy, that is less than the time that has passed.
type stopwatch struct {
	since time.Time
	first map[int]time.Duration // how long each process had worked when it was first seen
}

// maxStarved bounds how many times as long as the work the time may be.
const maxStarved = 20

// used returns how long ps have worked in all, each since it was first seen.
// Where none of them is at work, or waits for a processor, that is the time
// that has passed.
func (w *stopwatch) used(ps []info) time.Duration {
	if w.first == nil {
		w.first = make(map[int]time.Duration)
	}
	passed, work, running := time.Since(w.since), time.Duration(0), false
	for _, p := range ps {
		running = running || p.running
		now := worked(p.pid)
		if _, seen := w.first[p.pid]; !seen {
			w.first[p.pid] = now
		}
		work += now - w.first[p.pid]
	}
	if !running {
		return passed
	}
	return min(passed, max(work, passed/maxStarved))
}

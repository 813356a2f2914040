package job

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Floods is shared by the sources of all jobs. It keeps commands that write
// without end from keeping the machine from everything else: those of them
// that find no processor free take turns, with rests while there are calls. It
// is safe for concurrent use.
type Floods struct {
	turns chan struct{}
	crowd atomic.Int32 // the sources that have a turn or wait for one
	work  atomic.Int64 // nanoseconds of turns since the last rest
	large atomic.Int32 // pipes that are large from their beginning

	processors int       // to use while there is a flood; 0: never changed
	scarce     bool      // there are less than spareProcessors
	born       time.Time // times below are since then

	mu      sync.Mutex    // guards what follows
	active  int           // floods
	over    chan struct{} // closed when there is none; nil: there is none
	waiting int           // floods that wait for output
	waited  time.Duration // by floods until now, less now for each that is waiting
	called  time.Time     // the last call beside floods
	calm    *time.Timer
}

const (
	// After restAfter of work in turns comes a rest as long, up to maxRest. The
	// commands whose pipes are full rest with it. More work would be felt by who
	// waits for a call's answer; where nobody has called for promptFor, nobody
	// does.
	restAfter = 100 * time.Microsecond
	maxRest   = time.Millisecond
	promptFor = 250 * time.Millisecond

	// calmAfter is how long after a flood the next one is still expected.
	calmAfter = time.Second

	// A flood's copy gets half of the time. A flood and its copy use four
	// processors: the command, the plugin twice, and the host. Where there are
	// fewer, the copy gets a thirtieth of the time unless the floods are
	// mostlyIdle: they wait for output that long. A command may be slow only
	// because the copy has its processor. Amid a surge the copy shows a piece
	// every surgeRest.
	spareProcessors = 4
	spareRest       = 1
	scarceRest      = 30
	maxMakeWay      = 30 * time.Millisecond
	surgeRest       = 100 * time.Millisecond
	mostlyIdle      = 0.75
)

// NewFloods returns the Floods of a process. Where processors is not 0 the Go
// runtime gets that many while there is a flood, and one while there is none:
// another would be woken in vain at each step of each call, at the expense of
// the commands.
func NewFloods(processors int) *Floods {
	all := max(processors, runtime.GOMAXPROCS(0))
	f := &Floods{turns: make(chan struct{}, max(1, all-1)), processors: processors, scarce: all < spareProcessors, born: time.Now()}
	f.calm = time.AfterFunc(0, f.relax)
	return f
}

// begin and end enclose a flood.
func (f *Floods) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active++; f.active == 1 {
		f.over = make(chan struct{})
		f.calm.Stop()
		f.use(f.processors)
	}
}

func (f *Floods) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active--; f.active == 0 {
		close(f.over)
		f.over = nil
		f.calm.Reset(calmAfter)
	}
}

func (f *Floods) relax() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active == 0 {
		f.use(1)
	}
}

func (f *Floods) use(processors int) {
	if f.processors > 0 {
		runtime.GOMAXPROCS(processors)
	}
}

// turn calls step, which is one of a flood, when it is this one's turn. Among
// many, settle comes after it: what the step left to do.
func (f *Floods) turn(step, settle func()) {
	f.crowd.Add(1)
	defer f.crowd.Add(-1)
	f.turns <- struct{}{}
	defer func() { <-f.turns }()
	start := time.Now()
	step()
	if f.crowded() {
		settle()
		f.restOf(time.Since(start))
	}
}

// restOf is a rest of a turn's work, where that is due.
func (f *Floods) restOf(work time.Duration) {
	total := f.work.Add(int64(work))
	if total < int64(restAfter) {
		return
	}
	f.work.Add(-total)
	f.mu.Lock()
	called := time.Since(f.called) < promptFor
	f.mu.Unlock()
	if called {
		time.Sleep(min(time.Duration(total), maxRest))
	}
}

// Called says that there is a call.
func (f *Floods) Called() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active > 0 {
		f.called = time.Now()
	}
}

// wait says whether a flood waits for output.
func (f *Floods) wait(does bool) {
	now := time.Since(f.born)
	f.mu.Lock()
	defer f.mu.Unlock()
	if does {
		f.waiting++
		f.waited -= now
	} else {
		f.waiting--
		f.waited += now
	}
}

// follower is a goroutine whose work can wait where there are floods, which
// cannot.
type follower struct {
	floods *Floods
	looked time.Duration // when it last looked at the floods
	waited time.Duration // by them until then
}

// makeWay is a rest after work, where there are floods: a long one unless they
// have been mostlyIdle since the last one, and a longer one amid a surge.
func (w *follower) makeWay(work time.Duration, surge bool) {
	f, before := w.floods, *w
	w.looked = time.Since(f.born)
	f.mu.Lock()
	active, over := f.active, f.over
	w.waited = f.waited + time.Duration(f.waiting)*w.looked
	f.mu.Unlock()
	if active == 0 {
		return
	}
	rest := min(spareRest*work, maxMakeWay)
	all := float64(active) * float64(w.looked-before.looked)
	switch idle := float64(w.waited-before.waited) >= mostlyIdle*all; {
	case surge:
		rest = surgeRest
	case f.scarce && !idle:
		rest = min(scarceRest*work, maxMakeWay)
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	}
}

// crowded reports whether there are more floods than can have a turn at a time.
func (f *Floods) crowded() bool { return int(f.crowd.Load()) > cap(f.turns) }

// pace tells a flood from other output: floodSize within floodTime, for as
// long as it goes on like that or the pipe is found full.
type pace struct {
	flood bool
	since time.Time
	bytes int
}

const (
	floodSize = 256 << 10
	floodTime = 10 * time.Millisecond
)

// took takes note of one read and reports whether flood has changed.
func (p *pace) took(n int) bool {
	p.bytes += max(n, 0)
	if p.bytes < floodSize && (n > 0 || !p.flood) {
		return false
	}
	now := time.Now()
	was, quick := p.flood, now.Sub(p.since) < floodTime
	p.flood = p.bytes >= floodSize && (quick || n >= bufferSize) || n <= 0 && quick
	p.since, p.bytes = now, 0
	return p.flood != was
}

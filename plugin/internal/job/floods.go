package job

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Floods is shared by the sources of all jobs. It keeps commands that write
// without end from keeping the machine from everything else: those of them
// that find no processor free take turns, with a rest in each. It is safe for
// concurrent use.
type Floods struct {
	turns chan struct{}
	crowd atomic.Int32 // the sources that have a turn or wait for one

	pressing atomic.Int32  // floods that do not wait at an empty pipe
	relief   chan struct{} // when there is none any more

	processors int // to use while there is a flood; 0: never changed
	restShare  int // how long a makeWay is, in times of the work

	mu     sync.Mutex // guards what follows
	active int        // floods
	calm   *time.Timer
}

const (
	// maxRest bounds the rest in a turn, which is as long as its work. The
	// commands whose pipes are full rest with it.
	maxRest = time.Millisecond

	// calmAfter is how long after a flood the next one is still expected.
	calmAfter = time.Second

	// A flood and its copy use four processors: the command, the plugin twice,
	// and the host. Where there are fewer, the copy gets a twentieth of the time
	// until the flood is found to wait.
	spareProcessors = 4
	spareRest       = 1
	scarceRest      = 20
	maxMakeWay      = 20 * time.Millisecond
)

// NewFloods returns the Floods of a process. Where processors is not 0 the Go
// runtime gets that many while there is a flood, and one while there is none:
// another would be woken in vain at each step of each call, at the expense of
// the commands.
func NewFloods(processors int) *Floods {
	all := max(processors, runtime.GOMAXPROCS(0))
	f := &Floods{
		turns: make(chan struct{}, max(1, all-1)), relief: make(chan struct{}, 1),
		processors: processors, restShare: spareRest,
	}
	if all < spareProcessors {
		f.restShare = scarceRest
	}
	f.calm = time.AfterFunc(0, f.rest)
	return f
}

// begin and end enclose a flood.
func (f *Floods) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active++; f.active == 1 {
		f.calm.Stop()
		f.use(f.processors)
	}
}

func (f *Floods) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active--; f.active == 0 {
		f.calm.Reset(calmAfter)
	}
}

func (f *Floods) rest() {
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
		time.Sleep(min(time.Since(start), maxRest))
	}
}

// press says whether a flood presses: whether its pipe has more to read at once.
func (f *Floods) press(does bool) {
	if does {
		f.pressing.Add(1)
		return
	}
	if f.pressing.Add(-1) == 0 {
		select {
		case f.relief <- struct{}{}:
		default:
		}
	}
}

// makeWay is a rest after work that can wait, while floods press, which cannot.
func (f *Floods) makeWay(work time.Duration) {
	select {
	case <-f.relief: // of long ago
	default:
	}
	if f.pressing.Load() == 0 {
		return
	}
	timer := time.NewTimer(min(time.Duration(f.restShare)*work, maxMakeWay))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.relief:
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

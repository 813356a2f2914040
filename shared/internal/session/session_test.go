package session

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/rpc"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/muxconn"
)

var (
	seeds = flag.Uint64("seeds", defaultSeeds, "how many simulations to run")
	first = flag.Uint64("seed", 1, "the first one")
)

const (
	testSilence = 12 * time.Second
	testVersion = 7
)

// machine is a plugin in the simulation.
type machine struct {
	world  *world
	server *Server
}

// service is what it serves.
type service struct{ *Endpoint }

// Run is a call.
func (s service) Run(request Request[order], reply *Reply[receipt]) error {
	return Answer(s.Endpoint, request, reply, func(call *Call, o order) receipt {
		return call.Served().(*machine).run(call, o)
	})
}

// order is what a simulated call asks for.
type order struct {
	ID    uint64
	Takes time.Duration
	Live  int  // bytes
	After bool // some of them once the call has returned
	Stuck bool // it does not listen to cancels
	Flood bool // live bytes come without end
}

type receipt struct {
	ID        uint64
	Execution uint64
	Cancelled bool
}

// world is one simulation.
type world struct {
	t    *testing.T
	seed uint64
	net  *network
	mild bool // no outage lasts as long as the sessions linger

	silence  time.Duration // of the plugin's side
	identity string        // of the hosts

	mu         sync.Mutex // guards the fields below
	machine    *machine
	executions map[uint64][]uint64 // of orders, by id
	began      map[uint64]time.Time
	gaveUp     map[uint64]time.Time
	last       uint64
	running    atomic.Int64
}

func (w *world) failed(format string, args ...any) {
	w.t.Errorf("seed %d, %v: %s", w.seed, time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), fmt.Sprintf(format, args...))
}

func (m *machine) run(call *Call, o order) receipt {
	w := m.world
	w.running.Add(1)
	defer w.running.Add(-1)
	w.mu.Lock()
	w.last++
	r := receipt{ID: o.ID, Execution: w.last}
	w.executions[o.ID] = append(w.executions[o.ID], r.Execution)
	w.began[o.ID] = time.Now()
	w.mu.Unlock()
	source := rand.New(rand.NewPCG(w.seed, o.ID))
	switch {
	case o.Flood:
		go w.flood(call.Live, o.ID)
	case call.Live != nil:
		before := o.Live
		if o.After {
			before /= 2
		}
		w.write(call.Live, source, o.ID, 0, before)
		defer func() {
			go func() {
				w.write(call.Live, source, o.ID, before, o.Live)
				call.Live.Close()
			}()
		}()
	}
	over := call.Context.Done()
	if o.Stuck {
		over = nil
	}
	select {
	case <-over:
		r.Cancelled = true
	case <-time.After(o.Takes):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.gaveUp[o.ID]; w.mild && !o.Stuck && !at.IsZero() && time.Since(at) > 5*time.Minute {
		w.failed("call %x ran on for %v after it was given up", o.ID, time.Since(at))
	}
	return r
}

func (w *world) flood(to io.Writer, id uint64) {
	p := make([]byte, 32<<10)
	for i := 0; ; i += len(p) {
		for j := range p {
			p[j] = text(id, i+j)
		}
		_, err := to.Write(p)
		if err != nil {
			return
		}
	}
}

// text is byte i of a stream.
func text(id uint64, i int) byte { return byte(id*31 + uint64(i)*7 + uint64(i)>>8) }

func (w *world) write(to io.Writer, source *rand.Rand, id uint64, from, until int) {
	for from < until {
		p := make([]byte, min(1+source.IntN(40_000), until-from))
		for i := range p {
			p[i] = text(id, from+i)
		}
		n, err := to.Write(p)
		if err != nil {
			return
		}
		from += n
		if source.IntN(3) == 0 {
			time.Sleep(random(source, 2*time.Second))
		}
	}
}

// serve serves a connection by the machine that runs.
func (w *world) serve(socket net.Conn) {
	w.mu.Lock()
	m := w.machine
	w.mu.Unlock()
	conn := muxconn.New(socket, w.silence)
	rpcServer := &plugin.RPCServer{
		Plugins: plugin.PluginSet{"sim": dispensed{m.server, conn, w.identity}},
		Stdout:  io.MultiReader(),
		Stderr:  io.MultiReader(),
	}
	rpcServer.ServeConn(conn)
	conn.Close()
}

type dispensed struct {
	server   *Server
	conn     *muxconn.Conn
	identity string
}

func (d dispensed) Server(broker *plugin.MuxBroker) (any, error) {
	return service{d.server.Endpoint(broker, d.identity, func() { d.conn.Close() })}, nil
}

func (d dispensed) Client(*plugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, errors.New("not here")
}

// boot starts a plugin, in place of the one that runs.
func (w *world) boot() (old *machine) {
	m := &machine{world: w}
	m.server = &Server{
		Version:   testVersion,
		MaxLinger: time.Hour,
		Cause:     func(string) error { return context.Canceled },
		Open: func(_ string, settings []byte) (Served, []byte, bool) {
			return Served{Value: m, End: func() {}}, settings, true
		},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old = w.machine
	w.machine = m
	return old
}

func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// simulate runs one simulation.
func simulate(t *testing.T, seed uint64) {
	begin := runtime.NumGoroutine()
	source := rand.New(rand.NewPCG(seed, 1<<60))
	w := &world{
		t: t, seed: seed, silence: testSilence, identity: "host",
		mild:       source.IntN(3) > 0,
		executions: make(map[uint64][]uint64),
		began:      make(map[uint64]time.Time),
		gaveUp:     make(map[uint64]time.Time),
	}
	linger := 10 * time.Minute
	faults := [][2]time.Duration{{3 * time.Second, 4 * time.Second}, {3 * time.Second, 30 * time.Second}, {40 * time.Second, time.Minute}}[source.IntN(3)]
	w.net = &network{seed: seed, serve: w.serve, conns: make(map[*wire]bool)}
	w.net.weather.Store(&weather{
		delay:  []time.Duration{0, 5 * time.Millisecond, 300 * time.Millisecond}[source.IntN(3)],
		outage: faults[0],
		pause:  faults[1],
		rate:   []int{0, 20_000}[source.IntN(2)],
	})
	if !w.mild {
		linger = []time.Duration{0, 5 * time.Second, 30 * time.Second}[source.IntN(3)]
	}
	w.boot()
	storming, calm := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var hosts []*Host
	for range 1 + source.IntN(2) {
		h, _, err := Open(context.Background(), Config{
			Dial: w.net.dial, Plugin: "sim", Version: testVersion, Linger: linger, Silence: testSilence,
			Cause: func(err error) string { return err.Error() },
		})
		require.NoError(t, err, "seed %d", seed)
		hosts = append(hosts, h)
	}
	var storm sync.WaitGroup
	storm.Go(func() { w.net.storm(storming) })
	long, endLong := context.WithCancel(context.Background())
	var longCalls sync.WaitGroup
	for i, h := range hosts {
		longCalls.Go(func() {
			o := order{ID: seed<<32 + uint64(i) + 1<<31, Takes: 1000 * time.Hour}
			_, _ = Do[order, receipt](long, h, "Run", o, nil, Limit{Answer: o.Takes})
		})
	}
	for i, h := range hosts {
		for j := range 1 + source.IntN(4) {
			all.Go(func() { w.calls(h, uint64(i*100+j)) })
		}
	}
	if !w.mild {
		for range source.IntN(3) {
			time.Sleep(random(source, time.Minute))
			w.accident(source, hosts)
		}
	}
	all.Wait()
	calm()
	storm.Wait()
	w.net.heal()
	time.Sleep(time.Minute) // connections are made again, and the last news told
	w.nothingIsPending(hosts, 1)
	endLong()
	longCalls.Wait()
	time.Sleep(time.Minute)
	w.nothingIsPending(hosts, 0)
	for _, h := range hosts {
		h.Close()
	}
	w.machine.server.Drain(ended(context.Background()), "the end")
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	if w.running.Load() > 0 {
		w.failed("%d calls still run", w.running.Load())
	}
	if n := runtime.NumGoroutine(); n > begin {
		w.failed("%d goroutines are left", n-begin)
		if testing.Verbose() {
			stacks := make([]byte, 1<<20)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// accident restarts the plugin, or ends a host in one way or another.
func (w *world) accident(source *rand.Rand, hosts []*Host) {
	switch source.IntN(4) {
	case 0:
		old := w.boot()
		w.net.cutAll()
		old.server.Drain(ended(context.Background()), "")
	case 1:
		old := w.boot()
		old.server.Drain(ended(context.Background()), "a planned end")
	case 2:
		hosts[0].Close()
	case 3:
		hosts[0].end(&Lost{Reason: "the host has crashed"})
	}
}

// calls makes calls one after the other.
func (w *world) calls(h *Host, number uint64) {
	source := rand.New(rand.NewPCG(w.seed, 1000+number))
	for i := range 5 + source.IntN(20) {
		o := order{
			ID:    w.seed<<32 + number<<16 + uint64(i),
			Takes: random(source, []time.Duration{time.Millisecond, time.Second, time.Minute}[source.IntN(3)]),
			Live:  source.IntN(300_000),
			After: source.IntN(2) == 0,
			Stuck: source.IntN(20) == 0,
		}
		time.Sleep(random(source, time.Second))
		var timeout time.Duration
		if source.IntN(2) == 0 {
			timeout = random(source, 40*time.Second)
			if source.IntN(4) == 0 && !o.Stuck {
				o.Takes = 20 * time.Minute
			}
		}
		withLive := source.IntN(2) == 0
		if !w.call(h, o, timeout, withLive, source.IntN(8) == 0) {
			return
		}
	}
}

// call makes one call and checks its outcome. It returns false once the session has ended.
func (w *world) call(h *Host, o order, timeout time.Duration, withLive, hangUp bool) (goOn bool) {
	ctx := context.Background()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var reader *Reader
	var copied sync.WaitGroup
	if withLive {
		reader = h.Stream()
		copied.Go(func() { w.copy(h, reader, o, hangUp) })
	}
	got, err := Do[order, receipt](ctx, h, "Run", o, reader, Limit{Answer: o.Takes + time.Minute})
	returned := time.Now()
	w.mu.Lock()
	executions := w.executions[o.ID]
	w.mu.Unlock()
	if len(executions) > 1 {
		w.failed("call %x ran %d times", o.ID, len(executions))
	}
	var lost *Lost
	switch {
	case err == nil:
		if got.ID != o.ID || len(executions) != 1 || got.Execution != executions[0] {
			w.failed("call %x returned %+v after executions %v", o.ID, got, executions)
		}
		if got.Cancelled && ctx.Err() == nil && w.mild { // otherwise the session may have been ended
			w.failed("call %x was cancelled by nobody", o.ID)
		}
	case errors.As(err, &lost):
		if w.mild {
			w.failed("call %x lost its session: %v", o.ID, err)
		}
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		w.failed("call %x: %v", o.ID, err)
	}
	if err != nil && reader != nil {
		reader.Close()
	}
	copied.Wait()
	if err != nil && lost == nil {
		w.mu.Lock()
		w.gaveUp[o.ID] = returned
		w.mu.Unlock()
		// What was on its way may have run, but nothing begins once a new connection has brought the news.
		time.Sleep(time.Minute)
		w.mu.Lock()
		began := w.began[o.ID]
		w.mu.Unlock()
		if began.Sub(returned) > testSilence+5*time.Second {
			w.failed("call %x began %v after it was given up", o.ID, began.Sub(returned))
		}
	}
	return lost == nil
}

// copy reads a stream and checks each byte.
func (w *world) copy(h *Host, reader *Reader, o order, hangUp bool) {
	position := 0
	failed := false
	err := reader.Copy(writerFunc(func(p []byte) (int, error) {
		for i, b := range p {
			if b != text(o.ID, position+i) && !failed {
				failed = true
				w.failed("byte %d of the stream of call %x is another", position+i, o.ID)
			}
		}
		position += len(p)
		if hangUp && position > 50_000 {
			return 0, io.ErrShortWrite
		}
		return len(p), nil
	}))
	if position > o.Live {
		w.failed("the stream of call %x has %d bytes more than were written", o.ID, position-o.Live)
	}
	stopped := false
	select {
	case <-h.Ended():
		stopped = true
	default:
	}
	if err == nil && !stopped && !reader.isStopped.Load() && position != o.Live {
		w.failed("the stream of call %x ended after %d of %d bytes", o.ID, position, o.Live)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// nothingIsPending checks that neither half keeps a call or a stream that both are done with. So many of
// each session still run.
func (w *world) nothingIsPending(hosts []*Host, running int) {
	for i, h := range hosts {
		if h.life.Err() != nil {
			continue
		}
		if pending := h.pending(); len(pending) > running {
			w.failed("host %d still has calls or streams: %v", i, pending)
		}
		if h.IsAway() {
			w.failed("host %d is not connected again", i)
		}
	}
	for _, s := range w.machine.server.list() {
		s.mu.Lock()
		if len(s.calls) > running || len(s.streams) > 0 {
			w.failed("the plugin keeps %d calls and %d streams", len(s.calls), len(s.streams))
		}
		if len(s.finished) > running+1 {
			w.failed("the plugin keeps %v", s.finished)
		}
		s.mu.Unlock()
	}
}

// A network in memory does all that networks do. Whatever that is, each call runs once at most and
// returns its own outcome or a true error, live bytes are a prefix in order, and nothing is left.
func TestSimulation(t *testing.T) {
	log.SetOutput(io.Discard)                       // go-plugin says of each connection how it ended
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that a seed repeats
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	bubble(t, func(t *testing.T) {
		for seed := *first; seed < *first+*seeds; seed++ {
			simulate(t, seed)
			if t.Failed() {
				t.Fatalf("again: go test ./shared/internal/session -run TestSimulation -args -seed %d -seeds 1", seed)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var set numbers
		want := make(map[uint64]bool)
		for range source.IntN(60) {
			n := source.Uint64N(40)
			set.add(n)
			want[n] = true
			if source.IntN(20) == 0 {
				next := source.Uint64N(30)
				but := []uint64{source.Uint64N(30), source.Uint64N(30)}
				set.union(below(next, but))
				for n := range next {
					want[n] = want[n] || n != but[0] && n != but[1]
				}
			}
		}
		for n := range uint64(45) {
			require.Equal(t, want[n], set.has(n), "%d in %v", n, set)
		}
		for i := 1; i < len(set); i++ {
			assert.Greater(t, set[i].from, set[i-1].to)
		}
	}
}

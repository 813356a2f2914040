package session

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bubble runs a test with a clock of its own. The multiplexer keeps timers for its next connections, which
// another bubble must not get.
func bubble(t *testing.T, f func(*testing.T)) {
	runtime.GC()
	runtime.GC()
	synctest.Test(t, f)
}

// quietly is bubble for a test of one fault. Under the race detector of Go 1.26 about every third of
// them crashes in the detector itself, where it notes what a timer of a bubble starts; the simulation
// does not.
func quietly(t *testing.T, f func(*testing.T)) {
	if underRace {
		t.Skip("Go's race detector crashes in timers of a bubble; TestSimulation runs under it")
	}
	bubble(t, f)
}

// quiet is a world without a storm, for one fault at a time.
func quiet(t *testing.T) *world {
	w := &world{
		t:          t,
		mild:       true,
		executions: make(map[uint64][]uint64),
		began:      make(map[uint64]time.Time),
		gaveUp:     make(map[uint64]time.Time),
	}
	w.net = &network{serve: w.serve, conns: make(map[*wire]bool)}
	w.net.weather.Store(new(weather))
	w.boot()
	return w
}

func (w *world) open(linger, silence time.Duration) *Host {
	w.t.Helper()
	w.silence = silence
	h, _, err := Open(context.Background(), w.config(linger, silence))
	require.NoError(w.t, err)
	return h
}

func (w *world) config(linger, silence time.Duration) Config {
	return Config{
		Dial: w.net.dial, Plugin: "sim", Version: testVersion, Linger: linger, Silence: silence,
		Cause: func(error) string { return "" },
	}
}

// finish ends everything, so that no goroutine is left.
func (w *world) finish(hosts ...*Host) {
	w.net.heal()
	for _, h := range hosts {
		h.Close()
	}
	w.machine.server.Drain(ended(context.Background()), "the end")
	time.Sleep(10 * time.Minute)
	synctest.Wait()
}

func run(h *Host, ctx context.Context, takes time.Duration) (receipt, error) {
	return Do[order, receipt](ctx, h, "Run", order{ID: 1, Takes: takes}, nil, Limit{Answer: takes})
}

// Whatever stops the bytes, a proxy or a process that is stopped, both sides notice within 15 s.
func TestSilenceIsNoticed(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		h := w.open(time.Hour, testSilence)
		time.Sleep(time.Hour) // nobody calls, and the connection lives
		require.False(t, h.IsAway())
		w.net.breakDown(1000*time.Hour, time.Minute)
		time.Sleep(15 * time.Second)
		assert.True(t, h.IsAway())
		for _, s := range w.machine.server.list() {
			lingers, _ := s.isLingering()
			assert.True(t, lingers)
		}
		time.Sleep(time.Minute)
		assert.False(t, h.IsAway(), "it is connected again")
		w.finish(h)
	})
}

// A call that ends with its own context while the connection is away says that it is away.
func TestAwaySaysSinceWhen(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		h := w.open(time.Hour, testSilence)
		w.net.breakDown(0, time.Hour)
		w.net.cutAll()
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := run(h, ctx, time.Second)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		var away *Away
		require.ErrorAs(t, err, &away)
		assert.Regexp(t, `^context deadline exceeded: the connection to the plugin has been lost since 00:00:\d\d \(1[38]s ago\)$`, err.Error())
		w.net.heal()
		time.Sleep(time.Minute)
		w.mu.Lock()
		assert.Empty(t, w.executions, "what was given up is not sent later")
		w.mu.Unlock()
		w.finish(h)
	})
}

// A host is told that the plugin drains, and why it ends; calls end at once then.
func TestGoodbye(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		h := w.open(time.Hour, testSilence)
		time.Sleep(time.Second)
		var calls sync.WaitGroup
		calls.Go(func() {
			r, err := run(h, context.Background(), time.Hour)
			if err == nil {
				assert.True(t, r.Cancelled, "its reply came first")
				return
			}
			var lost *Lost
			if assert.ErrorAs(t, err, &lost) {
				assert.Equal(t, Lost{Reason: "it is being stopped", Planned: true}, *lost)
			}
		})
		patience, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		begin := time.Now()
		var drain sync.WaitGroup
		drain.Go(func() { w.machine.server.Drain(patience, "it is being stopped") })
		synctest.Wait()
		select {
		case <-h.Draining():
		default:
			assert.Fail(t, "the host is not told")
		}
		_, _, err := Open(context.Background(), w.config(0, 0))
		var refused *Refused
		assert.ErrorAs(t, err, &refused, "no new session begins")
		_, err = run(h, context.Background(), time.Second)
		assert.NoError(t, err, "the session goes on")
		calls.Wait()
		assert.Equal(t, time.Minute, time.Since(begin))
		drain.Wait()
		w.finish(h)
	})
}

// A session belongs to the name in its host's certificate.
func TestASessionIsResumedByItsHostOnly(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		h := w.open(time.Hour, testSilence)
		w.identity = "another"
		w.net.cutAll()
		_, err := run(h, context.Background(), time.Second)
		var lost *Lost
		assert.ErrorAs(t, err, &lost)
		w.finish(h)
	})
}

// Of the sessions that wait for a host, those that have waited longest end first.
func TestLingeringSessionsAreBounded(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		for range 2 * maxLingering {
			h := w.open(time.Hour, testSilence)
			time.Sleep(time.Second)
			h.end(&Lost{Reason: "the host has crashed"})
		}
		time.Sleep(time.Minute)
		assert.Len(t, w.machine.server.list(), maxLingering)
		time.Sleep(2 * time.Hour)
		assert.Empty(t, w.machine.server.list())
		w.finish()
	})
}

// A process on this machine may be stopped for long, also just after it has made a stream.
func TestAStopOfALocalSideLosesNothing(t *testing.T) {
	quietly(t, func(t *testing.T) {
		w := quiet(t)
		h := w.open(0, 0)
		time.Sleep(time.Second)
		stream := h.Stream()
		var call sync.WaitGroup
		call.Go(func() {
			o := order{ID: 2, Takes: time.Hour, Live: 300_000}
			_, err := Do[order, receipt](context.Background(), h, "Run", o, stream, Limit{Answer: 2 * o.Takes})
			assert.NoError(t, err)
		})
		w.net.breakDown(100*time.Second, 0)
		w.copy(h, stream, order{ID: 2, Live: 300_000}, false)
		call.Wait()
		w.finish(h)
	})
}

// A slow connection with live floods is no lost one, and calls wait for a bounded time.
func TestASlowConnectionHolds(t *testing.T) {
	for name, c := range map[string]struct{ rate, floods int }{
		"160 kbit/s":            {20_000, 1},
		"800 kbit/s, ten times": {100_000, 10},
	} {
		t.Run(name, func(t *testing.T) {
			quietly(t, func(t *testing.T) {
				w := quiet(t)
				w.net.weather.Store(&weather{rate: c.rate})
				w.net.serial = true
				h := w.open(0, testSilence)
				ctx, cancel := context.WithCancel(context.Background())
				var floods sync.WaitGroup
				for i := range c.floods {
					stream := h.Stream()
					o := order{ID: uint64(100 + i), Takes: time.Hour, Live: 1 << 40, Flood: true}
					floods.Go(func() { w.copy(h, stream, o, false) })
					floods.Go(func() {
						_, err := Do[order, receipt](ctx, h, "Run", o, stream, Limit{Answer: o.Takes})
						assert.NoError(t, err)
						stream.Close()
					})
				}
				var longest time.Duration
				for range 100 {
					time.Sleep(time.Second)
					begin := time.Now()
					_, err := run(h, context.Background(), 0)
					var lost *Lost
					require.False(t, errors.As(err, &lost), "%v", err)
					longest = max(longest, time.Since(begin))
				}
				assert.Less(t, longest, 5*time.Second)
				t.Logf("the longest call took %v", longest)
				cancel()
				floods.Wait()
				w.finish(h)
			})
		})
	}
}

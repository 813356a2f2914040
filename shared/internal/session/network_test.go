package session

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// network is a network in memory whose seed decides what becomes of its connections.
type network struct {
	seed    uint64
	weather atomic.Pointer[weather]
	serve   func(net.Conn) // takes the plugin's end of a new connection
	serial  bool           // the rate is of the wire, and not of each packet

	mu    sync.Mutex // guards the fields below
	dials uint64
	down  time.Time // until then no connection is made
	conns map[*wire]bool
}

// weather is how bad a network is.
type weather struct {
	delay  time.Duration // the longest delay of a packet
	outage time.Duration // the longest stall or refusal
	pause  time.Duration // the longest time between two faults
	rate   int           // bytes in a second; 0: any
}

var errCut = errors.New("the network has cut the connection")

// dial makes a connection.
func (n *network) dial(ctx context.Context) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	source := rand.New(rand.NewPCG(n.seed, n.dials))
	down := time.Until(n.down)
	n.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(random(source, n.weather.Load().delay)):
	}
	if down > 0 {
		return nil, errCut
	}
	out := newWire(n, source.Uint64())
	back := newWire(n, source.Uint64())
	n.mu.Lock()
	n.conns[out] = true
	n.conns[back] = true
	n.mu.Unlock()
	go n.serve(&end{in: out, out: back})
	return &end{in: back, out: out}, nil
}

// storm makes faults until ctx ends.
func (n *network) storm(ctx context.Context) {
	source := rand.New(rand.NewPCG(n.seed, 0))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(random(source, n.weather.Load().pause)):
		}
		fault := source.IntN(5)
		length := random(source, n.weather.Load().outage)
		n.mu.Lock()
		if fault == 0 {
			n.down = time.Now().Add(length)
		}
		var wires []*wire
		for w := range n.conns {
			wires = append(wires, w)
		}
		n.mu.Unlock()
		for _, w := range wires {
			mine := rand.New(rand.NewPCG(w.seed, uint64(time.Now().UnixNano())))
			switch fault {
			case 0, 1:
				w.cut(errCut) // both directions of all connections
			case 2:
				w.stall(length)
			case 3:
				if mine.IntN(2) == 0 {
					w.stall(length) // one direction, perhaps
				}
			case 4:
				if mine.IntN(3) == 0 {
					w.cut(io.EOF) // one direction ends, the other lives
				}
			}
		}
	}
}

// heal ends all faults but the cuts.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = time.Time{}
	n.weather.Store(new(weather))
	for w := range n.conns {
		w.stall(0)
	}
}

// breakDown lets nothing through for some time, nor new connections.
func (n *network) breakDown(stall, refusal time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = time.Now().Add(refusal)
	for w := range n.conns {
		w.stall(stall)
	}
}

// cutAll cuts every connection.
func (n *network) cutAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.conns {
		w.cut(errCut)
	}
}

func random(source *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(source.Int64N(int64(most)))
}

// wire is one direction of a connection.
type wire struct {
	network *network
	seed    uint64
	source  *rand.Rand // guarded by mu

	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	packets []packet
	stalled time.Time // until then nothing arrives
	err     error     // for the reader, once the packets are read
}

type packet struct {
	at    time.Time
	bytes []byte
}

// room is how many packets a wire holds.
const room = 64

func newWire(n *network, seed uint64) *wire {
	w := &wire{network: n, seed: seed, source: rand.New(rand.NewPCG(seed, 1))}
	w.changed.L = &w.mu
	return w
}

func (w *wire) cut(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	if err == errCut {
		w.packets = nil
	}
	w.changed.Broadcast()
}

func (w *wire) stall(length time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = time.Now().Add(length)
	w.wakeLocked(length)
}

func (w *wire) wakeLocked(after time.Duration) {
	time.AfterFunc(after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
}

func (w *wire) write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.packets) >= room && w.err == nil {
		w.changed.Wait()
	}
	if w.err != nil {
		return 0, errCut
	}
	now := w.network.weather.Load()
	at := time.Now().Add(random(w.source, now.delay))
	if rate := now.rate; rate > 0 {
		at = at.Add(time.Duration(len(p)) * time.Second / time.Duration(rate))
	}
	if last := len(w.packets) - 1; last >= 0 {
		before := w.packets[last].at
		switch {
		case w.network.serial:
			at = at.Add(max(0, time.Until(before)))
		case at.Before(before):
			at = before
		}
	}
	w.packets = append(w.packets, packet{at, append([]byte(nil), p...)})
	w.wakeLocked(time.Until(at))
	return len(p), nil
}

func (w *wire) read(p []byte, deadline func() time.Time) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		now := time.Now()
		if d := deadline(); !d.IsZero() && !d.After(now) {
			return 0, os.ErrDeadlineExceeded
		}
		arrived := len(w.packets) > 0 && !w.packets[0].at.After(now) && !w.stalled.After(now)
		switch {
		case arrived:
			n := copy(p, w.packets[0].bytes)
			w.packets[0].bytes = w.packets[0].bytes[n:]
			if len(w.packets[0].bytes) == 0 {
				w.packets = w.packets[1:]
				w.changed.Broadcast()
			}
			return n, nil
		case len(w.packets) == 0 && w.err != nil && !w.stalled.After(now):
			return 0, w.err
		}
		w.changed.Wait()
	}
}

// end is one end of a connection.
type end struct {
	in, out *wire

	mu       sync.Mutex // guards deadline
	deadline time.Time
}

func (e *end) Read(p []byte) (int, error) {
	return e.in.read(p, func() time.Time {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.deadline
	})
}

func (e *end) Write(p []byte) (int, error) { return e.out.write(p) }

func (e *end) Close() error {
	e.in.cut(errCut)
	e.out.cut(io.EOF)
	n := e.in.network
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, e.in)
	delete(n.conns, e.out)
	e.in.stall(0)
	return nil
}

func (e *end) SetReadDeadline(at time.Time) error {
	e.mu.Lock()
	e.deadline = at
	e.mu.Unlock()
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	e.in.changed.Broadcast()
	if !at.IsZero() {
		e.in.wakeLocked(max(0, time.Until(at)))
	}
	return nil
}

func (e *end) SetDeadline(at time.Time) error   { return e.SetReadDeadline(at) }
func (e *end) SetWriteDeadline(time.Time) error { return nil }
func (e *end) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "here"} }
func (e *end) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "there"} }

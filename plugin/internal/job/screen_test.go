package job

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// returns fails the test if a call hangs.
func returns(t *testing.T, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(guard):
		require.FailNow(t, what+" hangs")
	}
}

// awaitEnd waits until a closed screen has freed everything.
func (s *screen) awaitEnd(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.ended
	}, guard, time.Millisecond)
	assert.Nil(t, s.display.emulator)
	assert.Empty(t, s.backlog)
}

// startScreen starts a screen's goroutine as a Job does.
func startScreen(columns, rows int, answer func(string)) *screen {
	s := newScreen(columns, rows, NewTurns(2), answer)
	go s.run()
	return s
}

func TestAScreenKeepsItsLastPicture(t *testing.T) {
	s := startScreen(20, 5, func(string) {})
	s.put([]byte("one\r\n"))
	require.Eventually(t, func() bool { return s.text() == "one" }, guard, time.Millisecond)
	s.put([]byte("two"))
	require.Eventually(t, func() bool { return s.text() == "one\ntwo" }, guard, time.Millisecond)
	returns(t, "close", s.close)
	s.awaitEnd(t)
	assert.Equal(t, "one\ntwo", s.text())
}

// While an emulator works on and on, nobody waits for it.
func TestNobodyWaitsForAnEmulator(t *testing.T) {
	s := startScreen(20, 5, func(string) {})
	s.put([]byte("shown"))
	require.Eventually(t, func() bool { return s.text() == "shown" }, guard, time.Millisecond)
	s.turns.draw <- struct{}{}
	returns(t, "put", func() {
		for range 100 {
			s.put(make([]byte, bufferSize))
		}
	})
	returns(t, "text", func() { assert.Equal(t, "shown", s.text()) })
	returns(t, "close", s.close)
	returns(t, "text", func() { assert.Equal(t, "shown", s.text()) })
	<-s.turns.draw
	s.awaitEnd(t)
}

func TestABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b budget
		b.add(screenBurst)
		assert.LessOrEqual(t, b.rest(), time.Duration(0), "a burst")
		b.add(time.Millisecond)
		assert.Equal(t, screenShare*time.Millisecond, b.rest())
		time.Sleep(b.rest())
		assert.LessOrEqual(t, b.rest(), screenShare*time.Millisecond)
		b.add(0)
		assert.Zero(t, b.rest())
		time.Sleep(time.Hour)
		b.add(screenBurst)
		assert.Zero(t, b.rest(), "another burst, no more")
	})
}

// program writes what programs and their enemies write.
func program(r *rand.Rand) []byte {
	var out bytes.Buffer
	number := func() any {
		numbers := []any{"", 0, 1, r.IntN(10), r.IntN(300), 9999, 65535, "99999999999999999999", "-1", "1;2", "2:3"}
		return numbers[r.IntN(len(numbers))]
	}
	for out.Len() < 1<<10 {
		switch r.IntN(16) {
		case 0, 1, 2, 3, 4:
			fmt.Fprintf(&out, "\x1b[%v%v%c", pick(r, "", "", "", "?", ">", "!"), number(), 0x40+r.IntN(0x3f))
		case 5:
			fmt.Fprintf(&out, "\x1b[%v;%v%v%c", number(), number(), pick(r, "", "", " ", "$"), 0x40+r.IntN(0x3f))
		case 6:
			fmt.Fprintf(&out, "\x1b%c", 0x20+r.IntN(0x60))
		case 7:
			text := strings.Repeat("x;", r.IntN(3000))
			fmt.Fprintf(&out, "\x1b%c%v;%v%v", "]PX^_"[r.IntN(5)], number(), text, pick(r, "\x07", "\x1b\\", "\x18", ""))
		case 8:
			out.WriteString(pick(r, "\x1b[c", "\x1b[6n", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?69h",
				"\x1b[?6h", "\x1bc", "\x1b[2J", "\x1b[3J", "\x1b[?2027h", "\x1b(0"))
		case 9:
			out.WriteString(pick(r, "界", "é", "👩🏻‍❤️‍💋‍👩🏻", "ก็็็็", "\u0301", "\u200d", "한", "🇩🇪", "\u0600a", "\u009b"))
		case 10:
			one := pick(r, "\u0301", "界", "\n", "\r\n", "\t", "\b", "\x1bM", "\xc3", "\x1b[", "A\x1b[9999b", "\x1b[99S")
			out.WriteString(strings.Repeat(one, r.IntN(300)))
		case 11:
			for range r.IntN(100) {
				out.WriteByte(byte(r.Uint32()))
			}
		default:
			out.WriteString(pick(r, "text ", "line\r\n", "\x1b[1;31mred\x1b[m ", "\r", "$ "))
		}
	}
	return out.Bytes()
}

// Whatever a program draws, its screen shows text and ends.
func TestScreensOfRandomPrograms(t *testing.T) {
	r := seeded(t)
	before := runtime.NumGoroutine()
	for range 12 {
		columns, rows := 1+r.IntN(200), 1+r.IntN(60)
		var answers sync.Mutex
		answered := 0
		s := startScreen(columns, rows, func(text string) {
			answers.Lock()
			defer answers.Unlock()
			answered += len(text)
		})
		var calls sync.WaitGroup
		closed := make(chan struct{})
		for range 2 {
			calls.Go(func() {
				for isOpen := true; isOpen; {
					select {
					case <-closed:
						isOpen = false
					default:
					}
					text := s.text()
					assert.LessOrEqual(t, len(text), displayCell*columns*rows)
					assert.True(t, utf8.ValidString(text))
					assert.NotRegexp(t, `[^\P{Cc}\n]`, text)
				}
			})
		}
		for range r.IntN(400) {
			p := program(r)
			for len(p) > 0 {
				n := 1 + r.IntN(len(p))
				s.put(p[:n])
				p = p[n:]
			}
		}
		returns(t, "close", s.close)
		close(closed)
		returns(t, "text", calls.Wait)
		s.awaitEnd(t)
	}
	// Eventually has a goroutine of its own.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, guard, time.Millisecond)
}

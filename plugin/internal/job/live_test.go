package job

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/output"
)

// stuck is a writer that takes nothing until it is told to.
type stuck struct {
	bytes.Buffer
	gate chan struct{}
}

func newStuck() *stuck { return &stuck{gate: make(chan struct{}, 1)} }

func (w *stuck) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

// copied is a live copy whose tracks are written as a source would.
type copied struct {
	*live
	logs           *output.Logs
	stdout, stderr *track
}

func newCopied(t *testing.T, logs output.LogsConfig, stdout, stderr io.Writer) *copied {
	logs.Dir = t.TempDir()
	c := &copied{logs: output.NewLogs(logs)}
	stream := func(name string) *output.Stream {
		return output.NewStream(output.StreamConfig{Logs: c.logs, Name: name})
	}
	c.stdout = &track{stream: stream("out.log"), to: stdout}
	c.stderr = &track{stream: stream("err.log"), to: stderr, number: 1}
	c.live = newLive(NewFloods(0), c.logs.NewSpool(), c.stdout, c.stderr)
	c.stdout.live, c.stderr.live = c.live, c.live
	c.now = clock(surgeTime + 1) // nothing surges
	return c
}

// write is a source's write, that waits for it.
func write(to *track, p []byte) {
	if free := to.write(p); free != nil {
		<-free
	}
}

// noise returns n bytes, always the same, none of which the log holds.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, min(n, 16*maxUnit))
	for i := range p {
		p[i] = byte(r.IntN(8))
	}
	return repeat(p, 0, n)
}

// lines returns n bytes of text.
func lines(n int) []byte { return bytes.Repeat([]byte("0123456789abcde\n"), n/16) }

// take has the reader take n bytes of stdout.
func (c *copied) take(w *stuck, n int) {
	for taken := 0; taken < n; taken += liveBacklog {
		w.gate <- struct{}{}
		write(c.stdout, lines(min(liveBacklog, n-taken)))
		for c.behind() > 0 {
			<-c.moved
		}
	}
}

// finish lets the copy come to its end.
func (c *copied) finish(gates ...chan struct{}) {
	for _, gate := range gates {
		close(gate)
	}
	c.stdout.stream.Close()
	c.stderr.stream.Close()
	c.end()
	<-c.done
}

// skipped returns the bytes in text that no marker stands for, and the sum of
// what the markers say.
func skipped(t *testing.T, text string) (rest string, n int) {
	before, after, found := strings.Cut(text, "\n[… ")
	for rest = before; found; {
		var size int
		_, err := fmt.Sscanf(after, "%d bytes skipped …]\n", &size)
		require.NoError(t, err)
		n += size
		_, after, _ = strings.Cut(after, "…]\n")
		before, after, found = strings.Cut(after, "\n[… ")
		rest += before
	}
	return rest, n
}

// flood writes p as a source that is behind would.
func (c *copied) flood(p []byte) {
	for part := range slices.Chunk(p, pipeSize/4) {
		write(c.stdout, part)
	}
}

func TestLiveKeepsABacklogForASlowReader(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 1}, w, nil)
	text := strings.Repeat("0123456789abcde\n", liveBacklog/16/2)
	for part := range strings.Lines(text) {
		write(c.stdout, []byte(part))
	}
	c.finish(w.gate)
	assert.Equal(t, text, w.String())
}

func TestLiveCountsWhatItLeavesOut(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 1}, w, nil)
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		write(c.stdout, part)
	}
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, 20<<20, len(rest)+n)
	assert.GreaterOrEqual(t, len(rest), onlyMemory)
	assert.LessOrEqual(t, len(rest), onlyMemory+1<<20+gapEnd, "one more is with the writer")
}

func TestLiveIsBoundedWhateverTheSizeOfTheWrites(t *testing.T) {
	stdout, stderr := newStuck(), newStuck()
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 1}, stdout, stderr)
	for range onlyMemory / chunkSize {
		write(c.stdout, []byte("a"))
		write(c.stderr, []byte("b"))
	}
	c.mu.Lock()
	memory := cap(c.backlog.rest)
	for _, chunk := range c.backlog.queue {
		memory += cap(chunk.text)
	}
	assert.LessOrEqual(t, memory, onlyMemory+remainder)
	assert.Positive(t, c.stdout.gap.size+c.stderr.gap.size)
	c.mu.Unlock()
	c.finish(stdout.gate, stderr.gate)
}

// What a reader that does take something leaves waiting is on disk, in order,
// past what memory holds.
func TestLiveWaitsOnDiskForAReaderThatIsBehind(t *testing.T) {
	w, errs := newStuck(), new(bytes.Buffer)
	c := newCopied(t, output.LogsConfig{}, w, errs)
	c.take(w, 2<<20)
	var want, wantErrs strings.Builder
	want.Write(lines(2 << 20))
	for i := range 100 {
		part := strings.Repeat(fmt.Sprintln("part", i), 12<<10)
		write(c.stdout, []byte(part))
		want.WriteString(part)
		write(c.stderr, []byte(part[:i]))
		wantErrs.WriteString(part[:i])
	}
	c.mu.Lock()
	assert.Positive(t, c.backlog.waiting)
	assert.Zero(t, c.stdout.gap.size+c.stderr.gap.size)
	c.mu.Unlock()
	c.finish(w.gate)
	assert.True(t, want.String() == w.String(), "everything came, in order")
	assert.Equal(t, wantErrs.String(), errs.String())
	names, err := filepath.Glob(filepath.Join(c.logs.Folder(), "live-*"))
	assert.NoError(t, err)
	assert.Empty(t, names, "the file has no name")
}

// The disk has bounds, too.
func TestLiveOnDiskIsBounded(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 3 << 20}, w, nil)
	c.take(w, 2<<20)
	for range 20 {
		write(c.stdout, noise(1<<20))
	}
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, 22<<20, len(rest)+n)
	assert.GreaterOrEqual(t, n, 8<<20, "more than memory and the session's bound hold")
}

// What is left out at once has one marker, however little room there is.
func TestLiveMarksAGapOnce(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 4<<20 + 1000}, w, nil)
	text := noise(20 << 20)
	c.flood(text)
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, len(text), len(rest)+n)
	assert.Equal(t, 1, strings.Count(w.String(), "bytes skipped"))
}

// What the log holds as it came is not written a second time, and waits
// however stuck the reader is.
func TestLiveReadsTheLog(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{}, w, nil)
	var want strings.Builder
	for i := range 400 {
		part := strings.Repeat(fmt.Sprintln("a line of part", i, "ä€😀"), 5000)
		if i%3 == 0 {
			part += "$ " // an unfinished line
		}
		want.WriteString(part)
		write(c.stdout, []byte(part))
	}
	c.mu.Lock()
	assert.Zero(t, c.backlog.waiting)
	assert.Greater(t, c.backlog.last.size(), int64(20<<20))
	c.mu.Unlock()
	c.finish(w.gate)
	assert.True(t, want.String() == w.String(), "everything came, in order")
}

// Whatever becomes of the log's name, what waits in it comes.
func TestLiveReadsALogThatIsRemoved(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{}, w, nil)
	part := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range 20 {
		write(c.stdout, part)
	}
	path := filepath.Join(c.logs.Folder(), "out.log")
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	for range 20 {
		write(c.stdout, part)
	}
	c.finish(w.gate)
	assert.True(t, bytes.Equal(bytes.Repeat(part, 40), w.Bytes()))
}

// A log that was cut off lacks bytes, and the copy says so.
func TestLiveSaysWhatTheLogLost(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{}, w, nil)
	part := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range 40 {
		write(c.stdout, part)
	}
	c.stdout.stream.Flush()
	require.NoError(t, os.Truncate(filepath.Join(c.logs.Folder(), "out.log"), 20<<20))
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, 40<<20, len(rest)+n)
	assert.GreaterOrEqual(t, len(rest), 20<<20)
	assert.Positive(t, n)
}

// So does a log that stopped in the middle of a flood: what it took is in its
// file, although nobody pauses.
func TestLiveReadsALogThatStops(t *testing.T) {
	for name, after := range map[string]string{
		"at its bound":         "0123456789abcde\n",
		"before other content": "0123456789abcd\r",
	} {
		t.Run(name, func(t *testing.T) {
			w := newStuck()
			c := newCopied(t, output.LogsConfig{MaxBytes: 20<<20 + 12345}, w, nil)
			var want bytes.Buffer
			write := func(line string) {
				part := bytes.Repeat([]byte(line), 5000)
				want.Write(part)
				write(c.stdout, part)
			}
			for range 200 {
				write("0123456789abcde\n")
			}
			for range 100 {
				write(after)
			}
			close(w.gate)
			for c.behind() > 0 {
				<-c.moved
			}
			c.mu.Lock()
			assert.True(t, bytes.Equal(want.Bytes(), w.Bytes()), "everything came while the command goes on")
			c.mu.Unlock()
			c.finish()
		})
	}
}

// What is left out of one stream is not said in the other.
func TestLiveMarksTheStreamThatLacksSomething(t *testing.T) {
	w, errs := newStuck(), new(bytes.Buffer)
	c := newCopied(t, output.LogsConfig{MaxSessionBytes: 1}, w, errs)
	for range 20 {
		write(c.stdout, make([]byte, 1<<20))
	}
	write(c.stderr, []byte("a line\n"))
	close(w.gate)
	for c.behind() > 0 {
		<-c.moved
	}
	write(c.stderr, []byte("another\n"))
	c.finish()
	rest, n := skipped(t, w.String())
	assert.Equal(t, 20<<20, len(rest)+n)
	rest, n = skipped(t, errs.String())
	assert.Contains(t, rest, "another\n")
	assert.Contains(t, []int{0, len("a line\n")}, n)
}

// broken is a writer that takes nothing any more.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, io.ErrClosedPipe
}

// A writer that fails gets no more; the other one does.
func TestLiveGoesOnWithoutAWriterThatFails(t *testing.T) {
	bad, good := new(broken), new(bytes.Buffer)
	c := newCopied(t, output.LogsConfig{}, bad, good)
	for range 3 {
		write(c.stdout, []byte("out\n"))
		write(c.stderr, []byte("err\n"))
		for c.behind() > 0 {
			<-c.moved
		}
	}
	c.finish()
	assert.Equal(t, 1, bad.writes)
	assert.Equal(t, strings.Repeat("err\n", 3), good.String())
}

// Where the disk does not give back what it took, the copy says that it is not
// complete.
func TestLiveSaysThatTheDiskFailed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file is found in /proc")
	}
	w := newStuck()
	c := newCopied(t, output.LogsConfig{MaxBytes: 1}, w, nil)
	write(c.stdout, noise(6<<20)) // it may be with the writer already
	write(c.stdout, noise(6<<20))
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, file := range files {
		if name, _ := os.Readlink(file); strings.HasPrefix(filepath.Base(name), "live-") {
			require.NoError(t, os.Truncate(file, 0))
		}
	}
	c.finish(w.gate)
	assert.Equal(t, "\n[… the rest is lost: EOF …]\n", last(w.String(), 33))
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// Whatever is written in whatever pieces, and whenever the reader reads, the
// copy is what was written.
func TestLiveIsExact(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		out, errs := &stuck{gate: make(chan struct{}, 1000)}, new(bytes.Buffer)
		c := newCopied(t, output.LogsConfig{MaxBytes: int64(r.IntN(40)) << 20}, out, errs)
		out.gate <- struct{}{}
		out.gate <- struct{}{}
		c.take(out, 2<<20)
		want := map[*track]*bytes.Buffer{c.stdout: bytes.NewBuffer(lines(2 << 20)), c.stderr: {}}
		dirtyFrom := r.IntN(300)
		for i := range 200 {
			to := c.stdout
			if r.IntN(4) == 0 {
				to = c.stderr
			}
			p := piece(r, i > dirtyFrom)
			want[to].Write(p)
			write(to, p)
			switch r.IntN(8) {
			case 0:
				out.gate <- struct{}{}
			case 1:
				to.pause()
			}
		}
		c.finish(out.gate)
		assert.True(t, bytes.Equal(want[c.stdout].Bytes(), out.Bytes()), "stdout of seed %d", seed)
		assert.True(t, bytes.Equal(want[c.stderr].Bytes(), errs.Bytes()), "stderr of seed %d", seed)
	}
}

// Nor does a disk that takes nothing change what comes, while memory holds it.
func TestLiveIsExactWithoutADisk(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		out, errs := &stuck{gate: make(chan struct{}, 1000)}, &stuck{gate: make(chan struct{}, 1000)}
		c := newCopied(t, output.LogsConfig{MaxSessionBytes: 1}, out, errs)
		var want, wantErrs bytes.Buffer
		for size := 0; size < onlyMemory/2; {
			p := piece(r, true)
			p = p[:min(len(p), 256<<10)]
			size += max(len(p), chunkSize)
			if r.IntN(4) > 0 {
				want.Write(p)
				write(c.stdout, p)
			} else {
				wantErrs.Write(p)
				write(c.stderr, p)
			}
			if r.IntN(8) == 0 {
				out.gate <- struct{}{}
			}
		}
		assert.Positive(t, c.behind())
		c.finish(out.gate, errs.gate)
		assert.True(t, bytes.Equal(want.Bytes(), out.Bytes()), "stdout of seed %d", seed)
		assert.True(t, bytes.Equal(wantErrs.Bytes(), errs.Bytes()), "stderr of seed %d", seed)
	}
}

// piece returns text of any size, with lines of any length.
func piece(r *rand.Rand, dirty bool) []byte {
	if dirty && r.IntN(4) == 0 {
		unit := noise(1 + r.IntN(1<<r.IntN(14)))
		return bytes.Repeat(unit, 1+r.IntN(1<<18)/len(unit))
	}
	p := bytes.Repeat([]byte("x"), 1+r.IntN(1<<r.IntN(19)))
	if r.IntN(4) > 0 {
		for at := 0; at < len(p); at += 1 + r.IntN(1+r.IntN(1<<17)) {
			p[at] = '\n'
		}
	}
	if dirty {
		p[r.IntN(len(p))] = '\r'
	}
	return p
}

// What waits counts in full wherever it waits, or a result would wait for a
// reader that is far behind.
func TestLiveKnowsHowFarBehindItIs(t *testing.T) {
	out, errs := newStuck(), newStuck()
	c := newCopied(t, output.LogsConfig{}, out, errs)
	for range 40 {
		write(c.stdout, lines(1<<20))
		write(c.stderr, lines(1<<20))
	}
	assert.GreaterOrEqual(t, c.behind(), int64(79<<20), "one more is with the writer")
	close(out.gate)
	close(errs.gate)
	c.stdout.pause()
	c.stderr.pause()
	for c.behind() > 0 {
		<-c.moved
	}
	c.finish()
	assert.Len(t, out.Bytes(), 40<<20)
	assert.Len(t, errs.Bytes(), 40<<20)
}

// What repeats itself comes faster than the disk takes it. It waits in full, and
// counts in full.
func TestLiveWritesWhatIsRepeatedOnce(t *testing.T) {
	for name, unit := range map[string][]byte{
		"NULs":        {0},
		"a line":      []byte("\x1b[31m===========================================\x1b[m\n"),
		"a paragraph": noise(maxUnit),
	} {
		t.Run(name, func(t *testing.T) {
			w := newStuck()
			c := newCopied(t, output.LogsConfig{}, w, nil)
			c.take(w, 2<<20)
			want := bytes.NewBuffer(lines(2 << 20))
			for i := range 60 {
				part := bytes.Repeat(unit, (256<<10)/len(unit)+1)[:256<<10-i]
				write(c.stdout, part)
				want.Write(part)
			}
			assert.GreaterOrEqual(t, c.behind(), int64(13<<20))
			c.mu.Lock()
			assert.Less(t, c.backlog.waiting, int64(1<<20))
			assert.Zero(t, c.stdout.gap.size)
			c.mu.Unlock()
			c.finish(w.gate)
			assert.True(t, bytes.Equal(want.Bytes(), w.Bytes()))
		})
	}
}

// A reader who is stuck is not given hours of it afterwards.
func TestLiveIsBoundedForWhatIsRepeated(t *testing.T) {
	w := newStuck()
	c := newCopied(t, output.LogsConfig{}, w, nil)
	c.mu.Lock()
	c.backlog.spent = time.Hour
	c.mu.Unlock()
	const size = 4 * spoolBacklog
	for range size >> 20 {
		write(c.stdout, make([]byte, 1<<20))
	}
	c.finish(w.gate)
	rest, n := skipped(t, w.String())
	assert.Equal(t, size, len(rest)+n)
	assert.Less(t, len(rest), 2*spoolBacklog)
}

func TestUnitOf(t *testing.T) {
	long := 64 << 10
	for name, c := range map[string]struct {
		p    []byte
		want int // length of the unit; 0: none
	}{
		"empty":                        {nil, 0},
		"short":                        {make([]byte, 100), 0},
		"one byte":                     {make([]byte, long), 1},
		"two":                          {bytes.Repeat([]byte("y\n"), long/2), 2},
		"cut off":                      {bytes.Repeat([]byte("123"), long)[:long], 3},
		"repetitions within":           {bytes.Repeat([]byte(strings.Repeat("=", 79)+"\n"), long/80), 80},
		"the longest":                  {bytes.Repeat(noise(maxUnit), 4), maxUnit},
		"too long":                     {bytes.Repeat(noise(maxUnit+1), 10), 0},
		"all but the last byte":        {append(make([]byte, long), 1), 0},
		"all but one in the middle":    {append(append(make([]byte, long), 1), make([]byte, long)...), 0},
		"noise":                        {noise(long), 0},
		"a beginning that comes twice": {append(bytes.Repeat(noise(300), 2), make([]byte, long)...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			unit := unitOf(c.p)
			assert.Len(t, unit, c.want)
			if unit != nil {
				assert.True(t, bytes.Equal(c.p, repeat(bytes.Clone(unit), 0, len(c.p))))
			}
		})
	}
}

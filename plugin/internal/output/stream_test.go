package output

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

var defaults = shared.Limits{MaxLines: shared.DefaultMaxLines, MaxBytes: shared.DefaultMaxBytes}

func newTestStream(t *testing.T, logs LogsConfig, cfg StreamConfig) *Stream {
	t.Helper()
	if logs.Dir == "" {
		logs.Dir = t.TempDir()
	}
	cfg.Logs, cfg.Name = NewLogs(logs), "1.log"
	t.Cleanup(func() { cfg.Logs.Close() })
	s := NewStream(cfg)
	t.Cleanup(func() { s.Close() })
	return s
}

func write(t *testing.T, s *Stream, text string) {
	t.Helper()
	n, err := s.Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

func logText(t *testing.T, out shared.Output) string {
	t.Helper()
	require.NotEmpty(t, out.Path)
	text, err := os.ReadFile(out.Path)
	require.NoError(t, err)
	return string(text)
}

func TestStreamThatFitsIsShownWholeWithoutALog(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	write(t, s, "hello\nworld")
	s.Close()
	out := s.Show(defaults, View{})
	assert.Equal(t, shared.Output{Content: "hello\nworld", TotalLines: 2, TotalBytes: 11, OutputLines: 2, OutputBytes: 11}, out)
}

func TestStreamPastALimitHasALogWithEverything(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]shared.Limits{
		"lines": {MaxLines: 10, MaxBytes: 51200},
		"bytes": {MaxLines: -1, MaxBytes: 100},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStream(t, LogsConfig{}, StreamConfig{})
			var all strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&all, "line %d\n", i)
			}
			write(t, s, all.String())
			s.Close()
			out := s.Show(limits, View{})
			assert.True(t, out.Truncated)
			assert.Equal(t, name, out.TruncatedBy)
			assert.True(t, strings.HasSuffix(all.String(), "\n"+out.Content))
			assert.EqualValues(t, 1000, out.TotalLines)
			assert.EqualValues(t, all.Len(), out.TotalBytes)
			assert.Equal(t, strings.Count(out.Content, "\n"), out.OutputLines)
			assert.Equal(t, len(out.Content), out.OutputBytes)
			assert.Equal(t, all.String(), logText(t, out))
		})
	}
}

func TestStreamCountsExactlyHoweverMuchIsWritten(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	chunk := strings.Repeat("a line of text\n", 1000)
	for range 1000 {
		write(t, s, chunk)
	}
	write(t, s, "unfinished")
	out := s.Show(defaults, View{})
	assert.EqualValues(t, 1_000_001, out.TotalLines)
	assert.EqualValues(t, 15_000_010, out.TotalBytes)
	assert.True(t, strings.HasSuffix(out.Content, "unfinished"))
	s.Close()
	info, err := os.Stat(out.Path)
	require.NoError(t, err)
	assert.EqualValues(t, 15_000_010, info.Size())
}

func TestStreamShowsEachByteOnce(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	s.Keep()
	for _, step := range []struct{ in, want string }{
		{"one\ntw", "one\ntw"},
		{"o\n", "o\n"},
		{"", ""},
		{"prompt> ", "prompt> "},
		{"yes\n", "yes\n"},
		{"10%", "10%"},
		{"\r20%", "20%"},
		{"\r30%\ndone\n", "30%\ndone\n"},
	} {
		write(t, s, step.in)
		assert.Equal(t, step.want, s.Show(defaults, View{}).Content, "after %q", step.in)
	}
	assert.Equal(t, "one\ntwo\nprompt> yes\n30%\ndone\n", s.Show(defaults, View{All: true}).Content)
	assert.Empty(t, s.Show(defaults, View{}).Content, "All counts as shown")
}

// A line whose beginning has left the tail counts as not rewritten.
func TestStreamGoesOnWithALineThatWasShownLongAgo(t *testing.T) {
	t.Parallel()
	everything := shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes}
	noise := strings.Repeat("hay hay hay hay\n", 10_000)
	for name, c := range map[string]struct{ in, want string }{
		"gone on with":  {" done\n" + noise, " done\n" + noise},
		"left as it is": {"\n" + noise, "\n" + noise},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestStream(t, LogsConfig{}, StreamConfig{})
			s.Keep()
			write(t, s, "booting\nloading 50%")
			assert.Equal(t, "booting\nloading 50%", s.Show(everything, View{}).Content)
			found, old := s.Watch(regexp.MustCompile(`done`), false), s.Watch(regexp.MustCompile(`50%|booting`), false)
			write(t, s, c.in)
			assert.Equal(t, name == "gone on with", match(found))
			assert.False(t, match(old), "it was shown")
			out := s.Show(everything, View{})
			assert.True(t, c.want == out.Content, "%.40q", out.Content)
			assert.False(t, out.Truncated)
			write(t, s, "more")
			assert.Equal(t, "more", s.Show(everything, View{}).Content)
		})
	}
}

func TestStreamThatWasCutNeverShowsTheRest(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	s.Keep()
	write(t, s, "1\n2\n3\n4\n")
	limits := shared.Limits{MaxLines: 2, MaxBytes: 100}
	out := s.Show(limits, View{})
	assert.Equal(t, "3\n4\n", out.Content)
	assert.True(t, out.Truncated)
	write(t, s, "5\n")
	out = s.Show(limits, View{})
	assert.Equal(t, "5\n", out.Content)
	assert.False(t, out.Truncated)
	assert.EqualValues(t, 5, out.TotalLines, "of the whole stream")
}

func TestStreamShowsMoreThanItsTailFromTheLog(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	all := strings.Repeat("0123456789abcde\n", 20000)
	write(t, s, all)
	out := s.Show(shared.Limits{MaxLines: -1, MaxBytes: 200_000}, View{All: true})
	assert.Equal(t, all[len(all)-200_000:], out.Content)
	out = s.Show(shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes}, View{All: true})
	assert.Equal(t, all, out.Content)
	assert.False(t, out.Truncated)
}

func TestLogStopsAtItsBoundAndTheStreamGoesOn(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]LogsConfig{
		"one log may hold 100001 bytes":                   {MaxBytes: 100_001},
		"the logs of this session may hold 100001 bytes;": {MaxSessionBytes: 100_001},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestStream(t, cfg, StreamConfig{})
			line := strings.Repeat("語", 33) + "\n"
			for range 10_000 {
				write(t, s, line)
			}
			s.Close()
			out := s.Show(defaults, View{})
			assert.Contains(t, out.PathError, name)
			assert.EqualValues(t, 10_000, out.TotalLines)
			assert.True(t, strings.HasSuffix(out.Content, line))
			log := logText(t, out)
			assert.InDelta(t, 100_001, len(log), 3)
			assert.True(t, utf8.ValidString(log), "a rune was cut")
			assert.True(t, strings.HasPrefix(strings.Repeat(line, 10_000), log), "an unbroken beginning")
		})
	}
}

func TestLogThatCannotBeMadeIsReported(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := newTestStream(t, LogsConfig{Dir: file + "/below"}, StreamConfig{})
	write(t, s, strings.Repeat("x\n", 100_000))
	s.Close()
	out := s.Show(defaults, View{})
	assert.Empty(t, out.Path)
	assert.NotEmpty(t, out.PathError)
	assert.EqualValues(t, 100_000, out.TotalLines)
	assert.Equal(t, 2000, out.OutputLines)
}

func TestLogThatIsRemovedIsReported(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	s.Keep()
	write(t, s, "text\n")
	require.NoError(t, os.Remove(s.Show(defaults, View{All: true}).Path))
	out := s.Show(defaults, View{All: true})
	assert.Equal(t, "text\n", out.Content)
	assert.NotEmpty(t, out.PathError)
}

func TestWatchFindsAMatchAcrossChunks(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	w := s.Watch(regexp.MustCompile(`ready to \w+ connections`), false)
	for _, chunk := range []string{"booting\nserver re", "ady", " to accept conn"} {
		write(t, s, chunk)
		assert.False(t, match(w), "after %q", chunk)
	}
	write(t, s, "ections") // the line is not finished
	assert.True(t, match(w))
}

func TestWatchLooksOnlyAtWhatIsNew(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	write(t, s, "ready\nPass")
	s.Show(defaults, View{})
	old, prompt := s.Watch(regexp.MustCompile(`ready`), false), s.Watch(regexp.MustCompile(`Password: `), false)
	assert.False(t, match(old), "it was shown")
	write(t, s, "word: ")
	assert.False(t, match(old))
	assert.True(t, match(prompt), "its end was not shown")
	write(t, s, "\nready\n")
	assert.True(t, match(old))
}

func TestWatchThatFallsBehindReadsTheLog(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	w := s.Watch(regexp.MustCompile(`needle`), false)
	noise := strings.Repeat("hay hay hay hay\n", 10_000)
	write(t, s, noise+"need")
	write(t, s, "le\n"+noise)
	write(t, s, noise)
	assert.True(t, match(w))
	assert.False(t, match(s.Watch(regexp.MustCompile(`nothing like it`), false)))
}

func TestManyMayLookWhileTheStreamIsWritten(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	s.Keep()
	var wg sync.WaitGroup
	for range 3 {
		w := s.Watch(regexp.MustCompile(`(?m)^19999$`), false)
		wg.Go(func() {
			for changed := s.Changed(); !match(w); changed = s.Changed() {
				<-changed
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20_000 {
			fmt.Fprintf(s, "%d\n", i)
		}
		s.Close()
	}()
	var shown, want strings.Builder
	for running := true; running; {
		changed := s.Changed()
		select {
		case <-done:
			running = false
		case <-changed:
		}
		shown.WriteString(s.Show(shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes}, View{}).Content)
	}
	for i := range 20_000 {
		fmt.Fprintf(&want, "%d\n", i)
	}
	assert.True(t, want.String() == shown.String(), "each byte once")
	wg.Wait()
}

// Where a look ends, no line ends, unless it is very long.
func TestWatchDoesNotSeeItsOwnSteps(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	write(t, s, strings.Repeat("{ERROR-free "+strings.Repeat("x", 1000)+"}\n", 1000)+"{}")
	for _, re := range []string{`(?m)^[^{]`, `(?m)[^}]$`, `x\z`, `(?m)^$`} {
		assert.False(t, match(s.Watch(regexp.MustCompile(re), false)), re)
	}
	for _, re := range []string{`(?m)^{}$`, `(?m)^{E`, `(?m)x}$`, `}\z`, `(?s)ERROR.*`} {
		assert.True(t, match(s.Watch(regexp.MustCompile(re), false)), re)
	}
}

// A line without end is searched, too.
func TestWatchOfAVeryLongLine(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	early, late, none := s.Watch(regexp.MustCompile(`needle 1`), false), s.Watch(regexp.MustCompile(`needle 2`), false), s.Watch(regexp.MustCompile(`needle 3`), false)
	hay := strings.Repeat("hay ", 100_000)
	write(t, s, hay+"needle 1"+hay+"needle 2"+hay)
	assert.True(t, match(early))
	assert.True(t, match(late))
	assert.False(t, match(none))
	write(t, s, "needle 3")
	assert.True(t, match(none))
}

func TestWatchFindsAMatchOfManyLines(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	w := s.Watch(regexp.MustCompile(`(?s)BEGIN.*END`), false)
	for i := range 10000 {
		write(t, s, fmt.Sprintln("line", i))
	}
	write(t, s, "BEGIN\n")
	for i := range 5000 {
		write(t, s, fmt.Sprintln("line", i))
		if i%1000 == 0 {
			assert.False(t, match(w))
		}
	}
	write(t, s, "END")
	assert.True(t, match(w))
}

// A Watch makes progress where the log stopped early.
func TestWatchPassesWhatTheLogDoesNotHold(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{MaxBytes: 70 << 10}, StreamConfig{})
	w := s.Watch(regexp.MustCompile(`needle`), false)
	write(t, s, strings.Repeat("hay\n", 100000))
	assert.False(t, match(w))
	write(t, s, "needle")
	assert.True(t, match(w))
}

// The log has what a Result leaves out of a line that is being written.
func TestLogHasTheLineBeingWritten(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	write(t, s, "Do you really want this? [y/N] ")
	out := s.Show(shared.Limits{MaxLines: 10, MaxBytes: 10}, View{})
	assert.Equal(t, "s? [y/N] ", strings.TrimLeft(out.Content, "i"))
	assert.Equal(t, "Do you really want this? [y/N] ", logText(t, out))
	write(t, s, "\rno\x1b[K")
	out = s.Show(shared.Limits{MaxLines: 10, MaxBytes: 1}, View{All: true})
	assert.Equal(t, "no", logText(t, out))
	write(t, s, " more\nand another line")
	out = s.Show(shared.Limits{MaxLines: 10, MaxBytes: 1}, View{All: true})
	assert.Equal(t, "no more\nand another line", logText(t, out))
	require.NoError(t, s.Close())
	assert.Equal(t, "no more\nand another line", logText(t, out))

	// Of a job, also where the Result shows it whole.
	s = newTestStream(t, LogsConfig{}, StreamConfig{})
	s.Keep()
	write(t, s, "a prompt: ")
	out = s.Show(defaults, View{})
	assert.Equal(t, "a prompt: ", out.Content)
	assert.Equal(t, "a prompt: ", logText(t, out))
}

// Whoever looks while a line without end is written sees each byte once, and a
// total that only grows.
func TestStreamShowsALongLineOnceWhileItIsWritten(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{Tail: 1 << 20})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			_, _ = s.Write(bytes.Repeat([]byte{byte('a' + i%26)}, 9000))
		}
	}()
	var shown strings.Builder
	var total int64
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		out := s.Show(shared.Limits{MaxLines: -1, MaxBytes: 1 << 20}, View{})
		require.GreaterOrEqual(t, out.TotalBytes, total)
		total = out.TotalBytes
		require.False(t, out.Truncated)
		shown.WriteString(out.Content)
	}
	assert.EqualValues(t, 100*9000, total)
	assert.Len(t, shown.String(), 100*9000)
}

// A flood does not keep a Result from what only the log still has.
func TestStreamShowsAFloodWholeWhereItFits(t *testing.T) {
	t.Parallel()
	s := newTestStream(t, LogsConfig{}, StreamConfig{})
	done := make(chan struct{})
	text := strings.Repeat("0123456789abcde\n", 16<<10)
	go func() {
		defer close(done)
		for range 40 {
			_, _ = s.Write([]byte(text))
		}
	}()
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		out := s.Show(shared.Limits{MaxLines: -1, MaxBytes: 1 << 20, Ends: 1000}, View{All: true})
		require.Empty(t, out.PathError)
		if out.Truncated {
			require.Len(t, out.Head, 992)
			continue
		}
		require.EqualValues(t, out.TotalBytes, out.OutputBytes)
	}
}

// match looks through everything.
func match(w *Watch) bool {
	for {
		if found, more := w.Match(); found || !more {
			return found
		}
	}
}

// A look puts the line being written behind the log's text, not into it.
func TestALookDuringAFloodLeavesItsLogWhole(t *testing.T) {
	t.Parallel()
	chunk := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 2000) + "the beginning of a line")
	for range 20 {
		s := newTestStream(t, LogsConfig{}, StreamConfig{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 8 {
				_, _ = s.Write(chunk)
			}
		}()
		for looking := true; looking; {
			s.Show(shared.Limits{MaxLines: 1, MaxBytes: 10}, View{All: true})
			select {
			case <-done:
				looking = false
			default:
			}
		}
		require.NoError(t, s.Close())
		out := s.Show(shared.Limits{MaxLines: 1, MaxBytes: 10}, View{All: true})
		require.Empty(t, out.PathError)
		text, err := os.ReadFile(out.Path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(bytes.Repeat(chunk, 8), text))
	}
}

//go:build unix

package contract

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// Meaning 6: whatever a Result does not show is in the log that it names.
func TestMeaning6TruncatedMeansKept(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("by lines", func(t *testing.T) {
		r := plugintest.Run(t, bash, "seq 5000")
		assert.Equal(t, plugintest.Seq(3001, 5000), r.Stdout.Content)
		assert.True(t, r.Stdout.Truncated)
		assert.Equal(t, "lines", r.Stdout.TruncatedBy)
		assert.EqualValues(t, 5000, r.Stdout.TotalLines)
		assert.Equal(t, 2000, r.Stdout.OutputLines)
		assert.Equal(t, len(r.Stdout.Content), r.Stdout.OutputBytes)
		assert.EqualValues(t, len(plugintest.Seq(1, 5000)), r.Stdout.TotalBytes)
		assert.False(t, r.Stdout.LastLinePartial)
		assert.Empty(t, r.Stdout.PathError)
		assert.Equal(t, plugintest.Seq(1, 5000), plugintest.ReadFile(t, r.Stdout.Path))
		assert.Equal(t, shared.Output{}, r.Stderr)
	})
	t.Run("by bytes", func(t *testing.T) {
		line := strings.Repeat("x", 99) + "\n"
		r := plugintest.Run(t, bash, "for i in {1..1000}; do echo "+line[:99]+"; done")
		assert.Equal(t, strings.Repeat(line, 512), r.Stdout.Content)
		assert.Equal(t, "bytes", r.Stdout.TruncatedBy)
		assert.EqualValues(t, 1000, r.Stdout.TotalLines)
		assert.False(t, r.Stdout.LastLinePartial)
		assert.Equal(t, strings.Repeat(line, 1000), plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("each stream by itself", func(t *testing.T) {
		r := plugintest.Run(t, bash, "seq 3000 >&2; echo small")
		assert.Equal(t, "small\n", r.Stdout.Content)
		assert.False(t, r.Stdout.Truncated)
		assert.Empty(t, r.Stdout.Path)
		assert.Equal(t, plugintest.Seq(1001, 3000), r.Stderr.Content)
		assert.Equal(t, plugintest.Seq(1, 3000), plugintest.ReadFile(t, r.Stderr.Path))
	})
	t.Run("both streams", func(t *testing.T) {
		r := plugintest.Run(t, bash, "seq 3000; seq 4000 >&2")
		assert.NotEqual(t, r.Stdout.Path, r.Stderr.Path)
		assert.Equal(t, plugintest.Seq(1, 3000), plugintest.ReadFile(t, r.Stdout.Path))
		assert.Equal(t, plugintest.Seq(1, 4000), plugintest.ReadFile(t, r.Stderr.Path))
	})
	t.Run("exactly the limits is not truncated", func(t *testing.T) {
		for _, command := range []string{"seq 2000", "head -c 51200 /dev/zero | tr '\\0' x", "yes 123456789 | head -c 10000"} {
			r := plugintest.Run(t, bash, command)
			assert.False(t, r.Stdout.Truncated)
			assert.Empty(t, r.Stdout.TruncatedBy)
			assert.Empty(t, r.Stdout.Path)
			assert.EqualValues(t, r.Stdout.TotalBytes, len(r.Stdout.Content))
			assert.EqualValues(t, r.Stdout.TotalLines, r.Stdout.OutputLines)
		}
	})
	t.Run("one more is", func(t *testing.T) {
		r := plugintest.Run(t, bash, "seq 2001")
		assert.Equal(t, plugintest.Seq(2, 2001), r.Stdout.Content)
		r = plugintest.Run(t, bash, "seq 2000; printf unfinished")
		assert.Equal(t, plugintest.Seq(2, 2000)+"unfinished", r.Stdout.Content)
		assert.EqualValues(t, 2001, r.Stdout.TotalLines)
	})
	t.Run("a killed command too", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 5000; " + plugintest.Forever, Mode: shared.ModeTerminate, Timeout: plugintest.Soon})
		assert.Equal(t, plugintest.Seq(3001, 5000), r.Stdout.Content)
		assert.Equal(t, plugintest.Seq(1, 5000), plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("the log is the sanitized stream", func(t *testing.T) {
		r := plugintest.Run(t, bash, `printf 'be\033[1mfo\033[0mre\r\n'; seq 3000`)
		assert.Equal(t, "before\n"+plugintest.Seq(1, 3000), plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("a job always has logs", func(t *testing.T) {
		r := plugintest.AwaitEnd(t, bash, plugintest.Background(t, bash, "echo little").PID)
		assert.Equal(t, "little\n", plugintest.ReadFile(t, r.Stdout.Path))
		assert.Empty(t, plugintest.ReadFile(t, r.Stderr.Path))
	})
}

func TestLimitsOfARequest(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	limited := func(command string, limits shared.Limits) shared.Output {
		return plugintest.Execute(t, bash, shared.ExecuteRequest{Command: command, Limits: limits}).Stdout
	}
	t.Run("MaxLines", func(t *testing.T) {
		out := limited("seq 10", shared.Limits{MaxLines: 3})
		assert.Equal(t, "8\n9\n10\n", out.Content)
		assert.Equal(t, 3, out.OutputLines)
		assert.Equal(t, plugintest.Seq(1, 10), plugintest.ReadFile(t, out.Path))
	})
	t.Run("no MaxLines", func(t *testing.T) {
		out := limited("seq 9000", shared.Limits{MaxLines: -1})
		assert.Equal(t, plugintest.Seq(1, 9000), out.Content)
		assert.False(t, out.Truncated)
	})
	t.Run("MaxBytes", func(t *testing.T) {
		out := limited("seq 10", shared.Limits{MaxBytes: 6})
		assert.Equal(t, "9\n10\n", out.Content)
		assert.Equal(t, "bytes", out.TruncatedBy)
	})
	t.Run("the largest MaxBytes", func(t *testing.T) {
		out := limited("seq 100000", shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes})
		assert.Equal(t, plugintest.Seq(1, 100000), out.Content)
		assert.False(t, out.Truncated)
		out = limited("seq 1000000", shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes})
		assert.True(t, strings.HasSuffix(plugintest.Seq(1, 1000000), "\n"+out.Content))
		assert.LessOrEqual(t, len(out.Content), shared.MaxMaxBytes)
		assert.Greater(t, len(out.Content), shared.MaxMaxBytes-10)
	})
	t.Run("whichever comes first", func(t *testing.T) {
		assert.Equal(t, "bytes", limited("seq 1000", shared.Limits{MaxLines: 100, MaxBytes: 20}).TruncatedBy)
		assert.Equal(t, "lines", limited("seq 1000", shared.Limits{MaxLines: 2, MaxBytes: 20}).TruncatedBy)
	})
	t.Run("of Check and Kill", func(t *testing.T) {
		pid := plugintest.Background(t, bash, "seq 100000").PID
		plugintest.AwaitOver(t, bash, pid)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, All: true, Limits: shared.Limits{MaxLines: -1, MaxBytes: shared.MaxMaxBytes}})
		assert.Equal(t, plugintest.Seq(1, 100000), r.Stdout.Content, "although the memory holds less")
		r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, All: true, Limits: shared.Limits{MaxLines: 1}})
		assert.Equal(t, "100000\n", r.Stdout.Content)
		r, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid, Limits: shared.Limits{MaxLines: 2}})
		require.NoError(t, err)
		assert.Equal(t, "99999\n100000\n", r.Stdout.Content)
		assert.EqualValues(t, 100000, r.Stdout.TotalLines)
	})
}

func TestLimitsEnds(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	limits := shared.Limits{Ends: 10}
	t.Run("keeps both ends", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 5000", Limits: limits})
		assert.Equal(t, "1\n2\n3\n4\n5\n", r.Stdout.Head)
		assert.Equal(t, "4999\n5000\n", r.Stdout.Content)
		assert.True(t, r.Stdout.Truncated)
		assert.Equal(t, 20, r.Stdout.OutputBytes)
		assert.Equal(t, 7, r.Stdout.OutputLines)
		assert.EqualValues(t, 5000, r.Stdout.TotalLines)
		assert.Equal(t, plugintest.Seq(1, 5000), plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("cuts nothing within the limits", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 100", Limits: limits})
		assert.Equal(t, plugintest.Seq(1, 100), r.Stdout.Content)
		assert.Empty(t, r.Stdout.Head)
		assert.False(t, r.Stdout.Truncated)
	})
	t.Run("never cuts a rune", func(t *testing.T) {
		for ends := 1; ends < 9; ends++ {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{
				Command: "printf '世%.0s' {1..100}",
				Limits:  shared.Limits{Ends: ends, MaxBytes: 100},
			})
			assert.Equal(t, strings.Repeat("世", ends/3), r.Stdout.Head)
			assert.Equal(t, strings.Repeat("世", ends/3), r.Stdout.Content)
		}
	})
	t.Run("of what a Check has to show", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "echo first; "+g.Wait()+"; seq 100; echo last").PID
		plugintest.AwaitText(t, bash, pid, "first")
		g.Open(t)
		plugintest.AwaitOver(t, bash, pid)
		r := plugintest.Check(t, bash, shared.CheckRequest{PID: pid, Limits: shared.Limits{Ends: 4, MaxLines: 10}})
		assert.Equal(t, "1\n2\n", r.Stdout.Head)
		assert.Equal(t, "ast\n", r.Stdout.Content)
		assert.True(t, r.Stdout.StartsMidLine)
	})
	t.Run("of a flood", func(t *testing.T) {
		r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "seq 1000000", Limits: shared.Limits{Ends: 25000}})
		assert.Equal(t, plugintest.Seq(1, 5221), r.Stdout.Head)
		assert.True(t, strings.HasSuffix(plugintest.Seq(1, 1000000), "\n"+r.Stdout.Content))
		assert.Len(t, r.Stdout.Content, 24998, "whole lines")
	})
}

func TestOneLineLongerThanMaxBytes(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	t.Run("shows its end", func(t *testing.T) {
		r := plugintest.Run(t, bash, "echo before; head -c 60000 /dev/zero | tr '\\0' x; printf end")
		assert.True(t, r.Stdout.LastLinePartial)
		assert.Equal(t, "bytes", r.Stdout.TruncatedBy)
		assert.Equal(t, strings.Repeat("x", 51197)+"end", r.Stdout.Content)
		assert.Equal(t, 1, r.Stdout.OutputLines)
		assert.EqualValues(t, 2, r.Stdout.TotalLines)
		assert.EqualValues(t, 60010, r.Stdout.TotalBytes)
		assert.Equal(t, "before\n"+strings.Repeat("x", 60000)+"end", plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("with its newline", func(t *testing.T) {
		r := plugintest.Run(t, bash, "head -c 60000 /dev/zero | tr '\\0' x; echo")
		assert.True(t, r.Stdout.LastLinePartial)
		assert.Equal(t, strings.Repeat("x", 51199)+"\n", r.Stdout.Content)
	})
	t.Run("begins with a whole rune", func(t *testing.T) {
		for max := 20; max < 24; max++ {
			r := plugintest.Execute(t, bash, shared.ExecuteRequest{Command: "printf '🐧%.0s' {1..100}", Limits: shared.Limits{MaxBytes: max}})
			assert.Equal(t, strings.Repeat("🐧", 5), r.Stdout.Content)
			assert.True(t, r.Stdout.LastLinePartial)
		}
	})
	t.Run("before short ones", func(t *testing.T) {
		r := plugintest.Run(t, bash, "head -c 60000 /dev/zero | tr '\\0' x; echo; echo HTTP 200")
		assert.Equal(t, strings.Repeat("x", 51190)+"\nHTTP 200\n", r.Stdout.Content)
		assert.True(t, r.Stdout.StartsMidLine)
		assert.False(t, r.Stdout.LastLinePartial)
		assert.Equal(t, 2, r.Stdout.OutputLines)
	})
	t.Run("is left out if the lines after it are long enough", func(t *testing.T) {
		r := plugintest.Run(t, bash, "head -c 60000 /dev/zero | tr '\\0' x; echo; seq 6000")
		assert.True(t, strings.HasPrefix(r.Stdout.Content, "4001\n"), r.Stdout.Content[:10])
		assert.False(t, r.Stdout.StartsMidLine)
	})
}

func TestTotalsAreExact(t *testing.T) {
	t.Parallel()
	r := plugintest.Run(t, plugintest.Launch(t), "seq 2000000; printf unfinished")
	assert.EqualValues(t, 2000001, r.Stdout.TotalLines)
	assert.EqualValues(t, 14888896+len("unfinished"), r.Stdout.TotalBytes)
	assert.True(t, strings.HasSuffix(r.Stdout.Content, "\n2000000\nunfinished"))
	log, err := os.Open(r.Stdout.Path)
	require.NoError(t, err)
	defer log.Close()
	lines := 0
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		if lines++; lines <= 2000000 && scanner.Text() != fmt.Sprint(lines) {
			require.Equal(t, fmt.Sprint(lines), scanner.Text())
		}
	}
	assert.Equal(t, 2000001, lines)
}

// Meaning 7: the output is what a terminal would show in the end, however it
// was written.
func TestMeaning7SanitizedBeforeTheTail(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	for name, c := range map[string]struct{ command, want string }{
		"colours":                {`printf '\033[1;31mred\033[0m \033[38;5;196mdeep\033[m\n'`, "red deep\n"},
		"window title":           {`printf '\033]0;title\007text\n'`, "text\n"},
		"hyperlink":              {`printf '\033]8;;http://x\033\\link\033]8;;\033\\\n'`, "link\n"},
		"device control":         {`printf '\033Pq#0;1\033\\text\n'`, "text\n"},
		"application, privacy":   {`printf '\033_app\033\\\033^pm\033\\\033Xsos\033\\text\n'`, "text\n"},
		"charset":                {`printf '\033(0\033)Btext\n'`, "text\n"},
		"C1":                     {`printf '\302\23331mtext\302\205x\n'`, "textx\n"},
		"CRLF":                   {`printf 'one\r\ntwo\r\n'`, "one\ntwo\n"},
		"overwritten":            {`printf 'progress 50%%\rprogress done\n'`, "progress done\n"},
		"overwritten in part":    {`printf 'abcdef\rXY\n'`, "XYcdef\n"},
		"erased":                 {`printf 'a long line\r\033[Kshort\n'`, "short\n"},
		"backspace":              {`printf 'abd\bc\n'`, "abc\n"},
		"column":                 {`printf 'abc\033[1GX\n'`, "Xbc\n"},
		"tab":                    {`printf 'a\tb\n'`, "a\tb\n"},
		"control bytes":          {`printf 'a\000b\007c\177d\n'`, "abcd\n"},
		"invalid UTF-8":          {`printf 'a\377b\n'`, "a\uFFFDb\n"},
		"cut rune":               {`printf '\344\270'; printf '\226\n'`, "世\n"},
		"cut escape":             {`printf 'a\033['; printf '3'; printf '1mb\n'`, "ab\n"},
		"cut CRLF":               {`printf 'a\r'; printf '\nb\n'`, "a\nb\n"},
		"on stderr":              {`printf '\033[31mred\033[0m\n' >&2; printf 'x\n'`, "x\n"},
		"unfinished at the end":  {`printf 'text\033[3'`, "text"},
		"unfinished rune at end": {`printf 'text\344\270'`, "text\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plugintest.Run(t, bash, c.command)
			assert.Equal(t, c.want, r.Stdout.Content)
			assert.EqualValues(t, len(c.want), r.Stdout.TotalBytes)
			assert.NotContains(t, r.Stderr.Content, "\033")
		})
	}
	t.Run("an escape that never ends swallows nothing else", func(t *testing.T) {
		for _, opening := range []string{`\033]0;`, `\033P`, `\033_`, `\033^`, `\033X`, `\033[`} {
			r := plugintest.Run(t, bash, "printf 'before\\n"+opening+"'; seq 100000; echo after")
			assert.True(t, strings.HasSuffix(r.Stdout.Content, "\n99999\n100000\nafter\n"), opening)
			assert.Contains(t, plugintest.ReadFile(t, r.Stdout.Path)[:7], "before\n")
		}
	})
	t.Run("a line that was shown and rewritten comes again", func(t *testing.T) {
		g := plugintest.NewGate(t)
		pid := plugintest.Background(t, bash, "printf '10%%'; "+g.Wait()+`; printf '\r20%%'; `+g.Wait()+"; echo").PID
		assert.Equal(t, "10%", plugintest.AwaitText(t, bash, pid, "10%").Stdout.Content)
		g.Open(t)
		assert.Equal(t, "20%", plugintest.AwaitText(t, bash, pid, "20%").Stdout.Content)
		g.Open(t)
		assert.Equal(t, "20%\n", plugintest.AwaitEnd(t, bash, pid).Stdout.Content)
	})
	t.Run("binary data", func(t *testing.T) {
		r := plugintest.Run(t, bash, "head -c 300000 /dev/urandom")
		assert.True(t, utf8.ValidString(r.Stdout.Content))
		clean := func(c rune) bool { return c != '\n' && c != '\t' && (c < ' ' || c >= 0x7f && c < 0xa0) }
		assert.Equal(t, -1, strings.IndexFunc(r.Stdout.Content, clean))
	})
}

// Meaning 8: memory and disk are bounded, the command and its counts go on.
func TestMeaning8Bounded(t *testing.T) {
	t.Parallel()
	t.Run("a log stops at MaxLogBytes", func(t *testing.T) {
		bash := plugintest.LaunchWith(t, host.LaunchConfig{MaxLogBytes: 100000})
		r := plugintest.Run(t, bash, "seq 100000; exit 3")
		assert.Equal(t, 3, r.ExitCode)
		assert.EqualValues(t, 100000, r.Stdout.TotalLines)
		assert.Equal(t, plugintest.Seq(98001, 100000), r.Stdout.Content)
		assert.Contains(t, r.Stdout.PathError, "one log may hold 100000 bytes")
		assert.Equal(t, plugintest.Seq(1, 100000)[:100000], plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("logs stop at MaxSessionLogBytes", func(t *testing.T) {
		bash := plugintest.LaunchWith(t, host.LaunchConfig{MaxSessionLogBytes: 100000})
		r := plugintest.Run(t, bash, "seq 10000")
		assert.Empty(t, r.Stdout.PathError)
		r = plugintest.Run(t, bash, "seq 100000")
		assert.EqualValues(t, 100000, r.Stdout.TotalLines)
		assert.Contains(t, r.Stdout.PathError, "the logs of this session may hold 100000 bytes")
		assert.Equal(t, plugintest.Seq(1, 100000)[:100000-len(plugintest.Seq(1, 10000))], plugintest.ReadFile(t, r.Stdout.Path))
	})
	t.Run("a log that was removed counts no more", func(t *testing.T) {
		bash := plugintest.LaunchWith(t, host.LaunchConfig{MaxSessionLogBytes: 100000})
		for range 2 {
			r := plugintest.Run(t, bash, "seq 15000")
			assert.Empty(t, r.Stdout.PathError)
			assert.Equal(t, plugintest.Seq(1, 15000), plugintest.ReadFile(t, r.Stdout.Path))
			require.NoError(t, os.Remove(r.Stdout.Path))
		}
	})
	t.Run("memory of finished jobs", func(t *testing.T) {
		bash := plugintest.Launch(t)
		before := plugintest.Memory(t, bash.PluginPID())
		var env []string // 1 MB
		for i := range 10 {
			env = append(env, fmt.Sprintf("VARIABLE%d=%s", i, strings.Repeat("x", 100_000)))
		}
		for range 150 {
			r, err := bash.Execute(t.Context(), shared.ExecuteRequest{Command: "exit 3", Mode: shared.ModeBackground, Env: env})
			require.NoError(t, err)
			r = plugintest.Check(t, bash, shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
			assert.Equal(t, 3, r.ExitCode)
		}
		assert.Len(t, plugintest.Check(t, bash, shared.CheckRequest{PID: shared.AllJobs}).Jobs, 150)
		assert.Less(t, plugintest.Memory(t, bash.PluginPID())-before, 64<<20)
	})
}

func TestLogsArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	r := plugintest.Run(t, plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir}), "seq 3000")
	assert.Equal(t, dir, filepath.Dir(filepath.Dir(r.Stdout.Path)))
	for path, mode := range map[string]os.FileMode{r.Stdout.Path: 0o600, filepath.Dir(r.Stdout.Path): 0o700, dir: 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), path)
	}
}

func TestLogsOutliveTheClient(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	path := plugintest.Run(t, bash, "seq 3000").Stdout.Path
	require.NoError(t, bash.Close())
	assert.Equal(t, plugintest.Seq(1, 3000), plugintest.ReadFile(t, path))
}

func TestLogsGoAtCloseWithNegativeRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, killed := range []bool{false, true} {
		bash := plugintest.LaunchWith(t, host.LaunchConfig{LogDir: dir, LogRetention: -1})
		assert.FileExists(t, plugintest.Run(t, bash, "seq 3000").Stdout.Path)
		if killed {
			require.NoError(t, syscall.Kill(bash.PluginPID(), syscall.SIGKILL))
		}
		require.NoError(t, bash.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left, killed)
	}
}

func TestALogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r := plugintest.Run(t, plugintest.LaunchWith(t, host.LaunchConfig{LogDir: filepath.Join(file, "logs")}), "seq 3000; exit 7")
	assert.Equal(t, 7, r.ExitCode, "the command goes on")
	assert.EqualValues(t, 3000, r.Stdout.TotalLines)
	assert.Equal(t, plugintest.Seq(1001, 3000), r.Stdout.Content)
	assert.Empty(t, r.Stdout.Path)
	assert.Contains(t, r.Stdout.PathError, "not a directory")
}

func TestALogThatWasRemoved(t *testing.T) {
	t.Parallel()
	bash := plugintest.Launch(t)
	pid := plugintest.Background(t, bash, "seq 3000; "+plugintest.Forever).PID
	r := plugintest.AwaitText(t, bash, pid, "(?m)^3000$")
	require.NoError(t, os.Remove(r.Stdout.Path))
	r = plugintest.Check(t, bash, shared.CheckRequest{PID: pid, All: true})
	assert.NotEmpty(t, r.Stdout.PathError)
	assert.EqualValues(t, 3000, r.Stdout.TotalLines)
}

func TestTheLogsPathIsAbsolute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	relative, err := filepath.Rel(here, dir)
	require.NoError(t, err)
	r := plugintest.Run(t, plugintest.LaunchWith(t, host.LaunchConfig{LogDir: relative, Dir: "/"}), "seq 3000")
	assert.Equal(t, dir, filepath.Dir(filepath.Dir(r.Stdout.Path)))
	assert.Equal(t, plugintest.Seq(1, 3000), plugintest.ReadFile(t, r.Stdout.Path))
}

//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script runs a repl whose input is piped.
func script(t *testing.T, lines ...string) ran {
	t.Helper()
	cmd := program(t, "host-example", "repl")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	r := finish(t, cmd)
	r.stderr = slow.ReplaceAllString(r.stderr, "")
	return r
}

func TestReplSaysWhatALongCommandUsed(t *testing.T) {
	t.Parallel()
	cmd := program(t, "host-example", "repl", "-memory", "1GiB")
	cmd.Stdin = strings.NewReader("sleep 1.1\n")
	assert.Regexp(t, `^\[used \d+m?s of processor time, [0-9.]+ MiB, processes: 1\]\n$`, finish(t, cmd).stderr)
}

func TestReplTakesCommandsOfManyLines(t *testing.T) {
	t.Parallel()
	r := script(t, "cat <<EOF", "echo not run", "", ":help", "EOF", "for i in 1 2", "do echo $i", "done", `echo "a`, `b"`, `echo c \`, "d", "echo e |", "cat", "echo f")
	assert.Equal(t, ran{"echo not run\n\n:help\n1\n2\na\nb\nc d\ne\nf\n", "", 0}, r)
	r = script(t, "cat <<A; cat <<'B C'; cat <<-D", "1", "B C", "A", "2 $x", "B C", "\t3", "\tD", `echo "a`, `'$(echo b`, `)' c`, `"`, "echo $(( 1 +", "2 ))")
	assert.Equal(t, ran{"1\nB C\n2 $x\n3\na\n'b' c\n\n3\n", "", 0}, r)
	r = script(t, "cat <<'E'", "$x", "E")
	assert.Equal(t, ran{"$x\n", "", 0}, r)
	r = script(t, "[[ a == a &&", "b == b ]] && echo g", "[[ -n a", "&& -n b ]] && echo h", "if [[ -n a &&", "-n b ]]; then", "echo i; fi", "[[ (a == b ||", "c == c) ]] && echo j", "[[ a ]] ]]", "echo k")
	assert.Equal(t, "g\nh\ni\nj\nk\n", r.stdout)
	r = script(t, `echo l # C:\`, "echo m", `echo "n # \`, `o"`, ": >/dev/null && echo p", ":", ": ${X:=q}; echo $X")
	assert.Equal(t, "l\nm\nn # o\np\nq\n", r.stdout)
	long := []string{"f() {", "case x in x) if true; then for i in 1; do {"}
	for i := range 60 {
		long = append(long, fmt.Sprintf("echo %d |", i), "cat", `echo "}`, `done" \`, "| cat")
	}
	long = append(long, "} >&1; done", "fi ;; esac", "}; f | tail -3", "echo 0 |")
	for range 100 {
		long = append(long, "cat |")
	}
	long = append(long, "cat", "exit 0", "echo s")
	long = append(long, slices.Repeat([]string{"[[ -n a &&", "-n b ]] &&"}, 30)...)
	long = append(long, "[[ -n c", "&& -n d ]]", "exit 0", "echo u")
	r = script(t, long...)
	assert.Equal(t, ran{"59\n}\ndone\n0\ns\nu\n", "", 0}, r)
	r = script(t, `echo "unexpected end of file" )`, "echo next", "if true")
	assert.Equal(t, "next\n", r.stdout)
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, "unexpected end of file\n", "bash says what is missing")
}

func TestReplTakesCommandsFromAPipe(t *testing.T) {
	t.Parallel()
	r := script(t, "echo one", "", "# a comment", "echo two >&2", "printf three")
	assert.Equal(t, ran{"one\nthree", "two\n", 0}, r, "no prompt, no indicator")
}

func TestReplSaysThatItsInputCannotBeRead(t *testing.T) {
	t.Parallel()
	directory, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer directory.Close()
	cmd := program(t, "host-example", "repl")
	cmd.Stdin = directory
	assert.Equal(t, ran{"", "host-example: cannot read the commands: read /dev/stdin: is a directory\n", 1}, finish(t, cmd))
}

func TestReplExitsAsTheLastCommand(t *testing.T) {
	t.Parallel()
	r := script(t, "true", "exit 7")
	assert.Equal(t, 7, r.code)
	assert.Regexp(t, `^\[failed, exit code 7, [\d.]+m?s\]\n$`, r.stderr)
	r = script(t, "exit 7", ":quit", "echo not run")
	assert.Equal(t, 7, r.code)
	assert.Empty(t, r.stdout)
	assert.Zero(t, script(t).code)
}

func TestReplSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	wrong := [][2]string{
		{":nonsense", "there is no :nonsense; :help lists what there is"},
		{":check", `"" is not the PID of a job: use one that :jobs lists`},
		{":check 1", "no job has a process with the pid 1: there are no jobs"},
		{":check -1", `"-1" is not the PID`},
		{":check 0", `"0" is not the PID`},
		{":wait x", `"x" is not the PID`},
		{":wait 1 (", "error parsing regexp"},
		{":wait -1", `"-1" is not the PID`},
		{":kill -1", `"-1" is not the PID`},
		{":kill 0", `"0" is not the PID`},
		{":kill", `"" is not the PID`},
		{":cd /nowhere", `"/nowhere" cannot be used: it does not exist`},
		{":cd /dev/null", "not a directory"},
		{":cd ~nobody", `/~nobody" cannot be used`},
		{":dialect nonsense", "unknown dialect"},
		{":call bash {}", "choose a dialect first"},
		{"printf \x00", "NUL byte"},
	}
	var lines []string
	for _, w := range wrong {
		lines = append(lines, w[0])
	}
	r := script(t, lines...)
	assert.Equal(t, 1, r.code)
	said := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	require.Len(t, said, len(wrong), r.stderr)
	for i, w := range wrong {
		assert.True(t, strings.HasPrefix(said[i], "error: "), said[i])
		assert.Contains(t, said[i], w[1])
	}
}

func TestReplTakesLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	r := script(t, `printf '<%s>' a\ `, `  echo spaces`, "  :cd  ")
	assert.True(t, strings.HasPrefix(r.stdout, "<a >spaces\n/"), r.stdout)
}

func TestReplChangesDirectoryInADialect(t *testing.T) {
	t.Parallel()
	r := script(t, ":dialect task-id", ":cd /", "pwd", ":cd usr", "pwd")
	assert.Contains(t, r.stdout, "Directory: /\nStdout: /\n")
	assert.Contains(t, r.stdout, "Directory: /usr\nStdout: /usr\n")
}

func TestReplDirectives(t *testing.T) {
	t.Parallel()
	r := script(t, ":help")
	for _, d := range directives() {
		assert.Contains(t, r.stdout, "  "+d.name+" ")
	}
	r = script(t, ":cd /", "pwd", ":cd usr", ":cd", "pwd", ":cd ~")
	assert.Equal(t, "/\n/usr\n/usr\n", r.stdout)
	r = script(t, ":jobs")
	assert.Equal(t, "no jobs\n", r.stdout)
}

var jobLine = regexp.MustCompile(`\[job (\d+) goes on in the background; see :check, :wait and :kill\]`)

func TestReplDetachesAndKills(t *testing.T) {
	t.Parallel()
	s := startRepl(t)
	s.send("echo up; " + endless)
	s.expect("up\n")
	s.detach()
	pid := s.expectMatch(jobLine)
	s.send(":jobs")
	s.expectMatch(regexp.MustCompile(`PID +STATUS +AGE +CPU +MEMORY +COMMAND\n` + pid + ` +running +\d+s +\S+ +\S+( MiB)? +echo up; ` + endless + "\n"))
	s.send(":check " + pid)
	s.expectMatch(regexp.MustCompile(`\[job ` + pid + `: (running), `))
	s.send(":kill " + pid)
	s.expectMatch(regexp.MustCompile(`\[job ` + pid + `: (killed), exit code 143 \(SIGTERM\), `))
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	gone(t, number)
	s.send(":jobs")
	s.expect("no jobs\n")
	assert.Zero(t, s.leave())
}

func TestReplWaitsForOutput(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := startRepl(t)
	s.send("echo first; " + g.wait() + "; " + endless + " & echo listening on :80; wait")
	s.expect("first\n")
	s.detach()
	pid := s.expectMatch(jobLine)
	s.send(":wait " + pid + " listening on")
	g.open(t)
	before := s.expect("listening on :80\n[job " + pid + ": running, ")
	assert.NotContains(t, before, "first", "it was shown before the detach")
	s.send(":kill all")
	s.expect("[job " + pid + ": killed")
	s.expectMatch(regexp.MustCompile(`\n\[ended: (\d+) .*\]`))
	assert.Zero(t, s.leave())
}

func TestReplKeepsWhatACommandLeavesRunning(t *testing.T) {
	t.Parallel()
	s := startRepl(t)
	s.send(endless + " & echo $!")
	child := s.expectMatch(regexp.MustCompile(`(\d+)\n`))
	pid := s.expectMatch(regexp.MustCompile(`\[left running, as job (\d+): ` + child + ` .+\]`))
	s.send(":jobs")
	s.expectMatch(regexp.MustCompile(pid + ` +completed, (1) left `))
	assert.Zero(t, s.leave())
	number, err := strconv.Atoi(child)
	require.NoError(t, err)
	gone(t, number)
}

func TestReplSurvivesAnInterrupt(t *testing.T) {
	t.Parallel()
	s := startRepl(t)
	s.send("setsid " + endless + " & echo $!; wait")
	child := s.expectMatch(regexp.MustCompile(`(\d+)\n`))
	require.NoError(t, s.cmd.Process.Signal(os.Interrupt))
	s.expect("[killed, exit code 130 (SIGINT), ")
	number, err := strconv.Atoi(child)
	require.NoError(t, err)
	gone(t, number)
	s.send("echo still here")
	s.expect("still here\n")
	assert.Zero(t, s.leave())
}

func TestReplEndsWithASignal(t *testing.T) {
	t.Parallel()
	s := startRepl(t)
	s.send("echo $$; " + endless)
	pid := s.expectMatch(regexp.MustCompile(`(\d+)\n`))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 143, s.wait())
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	gone(t, number)
}

func TestReplEndsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	s := startRepl(t)
	s.out.Close()
	s.send("echo into the void")
	s.wait()
	assert.Equal(t, syscall.SIGPIPE, s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

func TestReplShowsWhatAModelSees(t *testing.T) {
	t.Parallel()
	r := script(t, ":dialect bash-id", "echo hello", "exit 3", ":call bash {}",
		":dialect native", ":cd /usr", "pwd", `:call bash {"command": "echo in $PWD", "dir": "/etc"}`, ":dialect off", "echo plain")
	assert.Contains(t, r.stdout, "stdout:\nhello\n\nexit code: 0\n")
	assert.Contains(t, r.stdout, "exit code: 3\n")
	assert.Contains(t, r.stdout, "command is missing")
	assert.Regexp(t, `\n/usr\n\[.*\]\nin /etc\n`, r.stdout)
	assert.True(t, strings.HasSuffix(r.stdout, "plain\n"))
}

// replSession is a repl that a test talks to.
type replSession struct {
	*conversation
	in io.WriteCloser
}

func startRepl(t *testing.T) *replSession {
	t.Helper()
	cmd := program(t, "host-example", "repl")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	write.Close()
	return &replSession{converse(t, cmd, read), in}
}

func (s *replSession) send(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(s.t, err)
}

// detach is Ctrl-Z.
func (s *replSession) detach() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(syscall.SIGTSTP))
}

// leave ends the input and returns the exit code.
func (s *replSession) leave() int {
	s.in.Close()
	return s.wait()
}

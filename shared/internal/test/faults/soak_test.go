//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// soakTime is how long TestSoak goes on: SOAK, a duration.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err, "SOAK")
		return d
	}
	return 4 * time.Second
}

// soakSeed is where its dice begin: SOAK_SEED, or the time.
func soakSeed(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("SOAK_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "SOAK_SEED")
		return seed
	}
	return uint64(time.Now().UnixNano())
}

const (
	soakClients = 2
	soakWorkers = 6 // of each client
)

// soak is one run: clients that workers use while their plugins crash and
// they themselves are closed and launched again.
type soak struct {
	t       *testing.T
	seed    uint64
	temp    string
	logs    string
	crowd   *faultCrowd
	over    atomic.Bool
	clients [soakClients]atomic.Pointer[host.Client]
	closed  sync.Map // of clients

	mu     sync.Mutex // guards what follows
	counts map[string]int
	pids   []int // of plugins and guardians
	clean  faultTimes
}

// TestSoak runs commands of all kinds from many goroutines, with random
// cancels, kills, crashes of plugins and hosts. Each account must be right,
// and at the end nothing may be left.
func TestSoak(t *testing.T) { // not parallel: it counts what this process holds
	s := &soak{t: t, seed: soakSeed(t), temp: plugintest.ShortDir(t), logs: t.TempDir(), crowd: newFaultCrowd(t), counts: make(map[string]int)}
	t.Logf("SOAK_SEED=%d", s.seed)
	goroutines, descriptors := runtime.NumGoroutine(), plugintest.Descriptors(t, os.Getpid())
	var wg sync.WaitGroup
	for i := range s.clients {
		s.launch(i)
		wg.Go(func() { s.chaos(i, s.dice(i, 100)) })
		for j := range soakWorkers {
			wg.Go(func() { s.work(i, s.dice(i, j)) })
		}
	}
	wg.Go(func() { s.hosts(s.dice(100, 100)) })
	time.AfterFunc(soakTime(t), func() { s.over.Store(true) })
	wg.Wait()
	for i := range s.clients {
		assert.NoError(t, s.clients[i].Load().Close())
	}
	s.crowd.awaitGone()
	plugintest.AwaitDeath(t, s.pids...)
	if !assert.Eventually(t, func() bool { return len(plugintest.Files(t, s.temp)) == 1 }, plugintest.Hang, 10*time.Millisecond, "no socket is left") {
		t.Log(plugintest.Files(t, s.temp))
	}
	s.report()
	s.settled(goroutines, descriptors)
}

// settled checks that this process, the host, holds no more than before.
func (s *soak) settled(goroutines, descriptors int) {
	var now, open int
	for until := time.Now().Add(plugintest.Hang / 2); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		runtime.GC() // closes what watched processes that are gone
		now, open = runtime.NumGoroutine(), plugintest.Descriptors(s.t, os.Getpid())
		if now <= goroutines && open <= descriptors {
			return
		}
	}
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	assert.Fail(s.t, "the host has not let go", "%d goroutines, before %d; %d descriptors, before %d\n%s", now, goroutines, open, descriptors, text)
}

func (s *soak) report() {
	var text []string
	for what, n := range s.counts {
		text = append(text, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(text)
	s.t.Log(strings.Join(text, ", "))
	s.clean.log(s.t, "until clean after a host's or plugin's death", 0)
}

func (s *soak) dice(i, j int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(i)<<32|uint64(j)))
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func (s *soak) launch(i int) {
	bash, err := host.Launch(context.Background(), host.LaunchConfig{
		Path: plugintest.Path, LogDir: s.logs, LogRetention: -1, Env: []string{"TMPDIR=" + s.temp},
	})
	if assert.NoError(s.t, err) {
		s.clients[i].Store(bash)
		s.meet(bash.PluginPID())
	}
}

// meet remembers a plugin and its guardian.
func (s *soak) meet(plugin int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/%d/children", plugin, plugin))
	s.mu.Lock()
	defer s.mu.Unlock()
	if plugin != 0 {
		s.pids = append(s.pids, plugin)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			pid, _ := strconv.Atoi(field)
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(name) == "bash-guardian\x00" {
				s.pids = append(s.pids, pid)
			}
		}
	}
}

// chaos crashes a client's plugin and replaces the client, now and then.
func (s *soak) chaos(i int, dice *rand.Rand) {
	for !s.over.Load() {
		time.Sleep(time.Duration(300+dice.IntN(1500)) * time.Millisecond)
		bash := s.clients[i].Load()
		switch plugin := bash.PluginPID(); {
		case plugin != 0 && dice.IntN(3) > 0:
			s.meet(plugin)
			s.count("plugins killed")
			assert.NoError(s.t, unix.Kill(plugin, unix.SIGKILL))
		default:
			s.count("clients replaced")
			s.launch(i)
			s.closed.Store(bash, true)
			assert.NoError(s.t, bash.Close())
		}
	}
}

// hosts starts hosts that have accidents.
func (s *soak) hosts(dice *rand.Rand) {
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	for !s.over.Load() {
		name := names[dice.IntN(len(names))]
		s.t.Run(name, func(t *testing.T) { s.accident(t, name) })
	}
}

func (s *soak) accident(t *testing.T, name string) {
	crowd := newFaultCrowd(t)
	h := startFaultHost(t, faultHostOrders{Commands: crowd.treeCommands()})
	pids := append(append(crowd.await(len(faultTrees)), h.plugin), h.pids...)
	pids = append(pids, plugintest.Guardian(t, h.plugin)) // which still writes when all others are gone
	begin := time.Now()
	faults[name](h)
	crowd.awaitGone()
	s.mu.Lock()
	s.clean.add(time.Since(begin))
	s.counts["hosts: "+name]++
	s.mu.Unlock()
	plugintest.AwaitDeath(t, pids...)
}

// work uses a client in every way.
func (s *soak) work(i int, dice *rand.Rand) {
	kinds := []func(*host.Client, *rand.Rand){s.plain, s.plain, s.streams, s.timeout, s.cancel, s.follow, s.follow, s.leave, s.tree}
	for !s.over.Load() {
		kinds[dice.IntN(len(kinds))](s.clients[i].Load(), dice)
	}
}

// execute returns nil where the plugin or the client is gone.
func (s *soak) execute(ctx context.Context, bash *host.Client, req shared.ExecuteRequest) *shared.Result {
	req.Command = s.crowd.command(req.Command)
	r, err := bash.Execute(ctx, req)
	return s.account(bash, r, err)
}

// account checks what a call came to. It returns nil where the session ended
// under it: logs go with it.
func (s *soak) account(bash *host.Client, r *shared.Result, err error) *shared.Result {
	switch {
	case errors.Is(err, shared.ErrCrashed):
		s.count("calls crashed")
		return nil
	case errors.Is(err, shared.ErrClosed):
		s.count("calls closed")
		return nil
	case !assert.NoError(s.t, err):
		return nil
	}
	if _, closed := s.closed.Load(bash); closed {
		s.count("results of closed clients")
		return nil
	}
	s.count("results")
	for _, out := range []shared.Output{r.Stdout, r.Stderr} {
		assert.GreaterOrEqual(s.t, out.TotalBytes, int64(out.OutputBytes))
		assert.Equal(s.t, len(out.Content)+len(out.Head), out.OutputBytes)
		assert.Empty(s.t, out.PathError)
	}
	assert.Equal(s.t, r.Status == shared.StatusKilled, r.Cause != "")
	assert.Equal(s.t, r.Status == shared.StatusRunning, r.ExitCode == -1 && r.PID != 0)
	if r.Status != shared.StatusKilled {
		assert.Equal(s.t, r.Status == shared.StatusCompleted, r.ExitCode == 0)
	}
	return r
}

func (s *soak) plain(bash *host.Client, dice *rand.Rand) {
	n, code := dice.IntN(5000), dice.IntN(2)*dice.IntN(256)
	r := s.execute(context.Background(), bash, shared.ExecuteRequest{Command: fmt.Sprintf("seq %d; exit %d", n, code), Merge: dice.IntN(2) == 0})
	if r == nil {
		return
	}
	assert.Equal(s.t, code, r.ExitCode)
	assert.EqualValues(s.t, n, r.Stdout.TotalLines)
	assert.EqualValues(s.t, len(plugintest.Seq(1, n)), r.Stdout.TotalBytes)
	assert.Equal(s.t, n > shared.DefaultMaxLines, r.Stdout.Truncated)
	assert.Equal(s.t, plugintest.Seq(max(1, n-shared.DefaultMaxLines+1), n), r.Stdout.Content)
	if r.Stdout.Truncated {
		if text, err := os.ReadFile(r.Stdout.Path); err == nil { // it goes with its session
			assert.Equal(s.t, plugintest.Seq(1, n), string(text))
		}
	}
}

func (s *soak) streams(bash *host.Client, dice *rand.Rand) {
	n, m := dice.IntN(1000), dice.IntN(1000)
	var live strings.Builder
	r := s.execute(context.Background(), bash, shared.ExecuteRequest{Command: fmt.Sprintf("seq %d & seq %d >&2; wait", n, m), Stdout: &live})
	if r == nil {
		return
	}
	assert.Equal(s.t, plugintest.Seq(1, n), r.Stdout.Content)
	assert.Equal(s.t, plugintest.Seq(1, m), r.Stderr.Content)
}

func (s *soak) timeout(bash *host.Client, dice *rand.Rand) {
	req := shared.ExecuteRequest{Command: "echo before; trap '' TERM; setsid sleep 1000 & sleep 1000", Mode: shared.ModeTerminate, Timeout: time.Duration(50+dice.IntN(200)) * time.Millisecond}
	if dice.IntN(2) == 0 {
		req.Command = "echo before; exec sleep 1000"
	}
	if r := s.execute(context.Background(), bash, req); r != nil {
		assert.Equal(s.t, shared.CauseTimeout, r.Cause)
		assert.Empty(s.t, r.Leftover)
		assert.Contains(s.t, []string{"", "before\n"}, r.Stdout.Content)
	}
}

func (s *soak) cancel(bash *host.Client, dice *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.IntN(100))*time.Millisecond)
	defer cancel()
	r := s.execute(ctx, bash, shared.ExecuteRequest{Command: "seq 10; setsid sleep 1000 & sleep 0.05; kill $!; wait; exit 3"})
	if r == nil {
		return
	}
	if r.Cause != shared.CauseCancel {
		assert.Equal(s.t, 3, r.ExitCode)
		assert.Equal(s.t, plugintest.Seq(1, 10), r.Stdout.Content)
	}
	assert.Empty(s.t, r.Leftover)
	s.count("cancels")
}

// follow reads a job by bits: together they are the whole, each byte once.
func (s *soak) follow(bash *host.Client, dice *rand.Rand) {
	n := 1 + dice.IntN(300)
	text := fmt.Sprintf("for ((i = 1; i <= %d; i++)); do printf %%s $i; ((i %% 37)) || sleep 0.02; echo; done; exit 4", n)
	r := s.execute(context.Background(), bash, shared.ExecuteRequest{Command: text, Mode: shared.ModeBackground})
	if r == nil {
		return
	}
	all := r.Stdout.Content
	for r.Status == shared.StatusRunning {
		wait := time.Duration(dice.IntN(30)) * time.Millisecond
		next, err := bash.Check(context.Background(), shared.CheckRequest{PID: r.PID, Wait: wait})
		if r = s.account(bash, next, err); r == nil {
			return
		}
		all += r.Stdout.Content
	}
	assert.Equal(s.t, 4, r.ExitCode)
	assert.Equal(s.t, plugintest.Seq(1, n), all)
	next, err := bash.Kill(context.Background(), shared.KillRequest{PID: r.PID})
	if r = s.account(bash, next, err); r != nil {
		assert.Equal(s.t, plugintest.Seq(1, n), r.Stdout.Content)
		s.count("jobs followed")
	}
}

// leave leaves a process behind, which ends by itself or is killed.
func (s *soak) leave(bash *host.Client, dice *rand.Rand) {
	r := s.execute(context.Background(), bash, shared.ExecuteRequest{Command: "(env -i setsid sleep 4 >/dev/null 2>&1 &) ; echo x; exit 6"})
	if r == nil {
		return
	}
	assert.Equal(s.t, 6, r.ExitCode)
	assert.Len(s.t, r.Leftover, 1)
	var next *shared.Result
	var err error
	if dice.IntN(2) == 0 {
		next, err = bash.Check(context.Background(), shared.CheckRequest{PID: r.PID, Wait: plugintest.Hang})
	} else {
		next, err = bash.Kill(context.Background(), shared.KillRequest{PID: r.PID})
	}
	if r = s.account(bash, next, err); r != nil {
		assert.Empty(s.t, r.Leftover)
		assert.Equal(s.t, 6, r.ExitCode)
		s.count("left-overs")
	}
}

// tree starts a job that is hard to end, and ends it.
func (s *soak) tree(bash *host.Client, dice *rand.Rand) {
	crowd := newSoakTree(s)
	defer crowd.close()
	names := make([]string, 0, len(faultTrees))
	for name := range faultTrees {
		names = append(names, name)
	}
	slices.Sort(names)
	r, err := bash.Execute(context.Background(), shared.ExecuteRequest{Command: crowd.command(faultTrees[names[dice.IntN(len(names))]]), Mode: shared.ModeBackground})
	if r = s.account(bash, r, err); r == nil {
		return
	}
	for until := time.Now().Add(time.Duration(dice.IntN(100)) * time.Millisecond); time.Now().Before(until); {
		crowd.read()
	}
	next, err := bash.Kill(context.Background(), shared.KillRequest{PID: r.PID, Grace: 50 * time.Millisecond})
	if r = s.account(bash, next, err); r == nil {
		return
	}
	crowd.read() // what was there before
	assert.False(s.t, crowd.read(), "a process outlived Kill")
	s.count("trees killed")
}

// soakTree is a crowd whose test ends before s.t does.
type soakTree struct{ *faultCrowd }

func newSoakTree(s *soak) soakTree {
	path := filepath.Join(s.logs, fmt.Sprintf("crowd-%d", rand.Uint64()))
	assert.NoError(s.t, unix.Mkfifo(path, 0o600))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	assert.NoError(s.t, err)
	return soakTree{&faultCrowd{t: s.t, path: path, fd: fd}}
}

func (c soakTree) close() {
	unix.Close(c.fd)
	os.Remove(c.path)
}

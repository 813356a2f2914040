package executor

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/job"
	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// launcher starts commands. It holds everything that they have in common: a new
// limit for commands, or a wrapper around bash, goes here.
type launcher struct {
	log   hclog.Logger
	dir   *directory
	env   []string
	ttys  []string // the environment of commands with a terminal
	null  *os.File
	logs  *output.Logs
	turns job.Turns
	start func(process.Spec) (*process.Group, error)
	bash  atomic.Pointer[string] // found in PATH by the first command

	confine   []shared.Confine // the session's
	resources shared.Resources // the session's
	cgroups   confine.Cgroups
	temps     *temps
	signals   signals
}

func newLauncher(cfg Config, log hclog.Logger, start func(process.Spec) (*process.Group, error)) (*launcher, error) {
	dir, err := openDirectory(cfg.Dir)
	if err != nil {
		return nil, &shared.Error{Code: shared.CodeInvalid, Message: err.Error(), Field: "Dir"}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		dir.close()
		return nil, err
	}
	env, ttys := cfg.baseEnvs()
	confines := slices.DeleteFunc(slices.Clone(cfg.Confine), func(c shared.Confine) bool { return !c.Confines() })
	peers, err := newSignals(confines)
	if err != nil {
		dir.close()
		null.Close()
		return nil, err
	}
	return &launcher{
		log:   log,
		dir:   dir,
		env:   env,
		ttys:  ttys,
		null:  null,
		logs:  output.NewLogs(cfg.Logs),
		turns: cmp.Or(cfg.Turns, job.NewTurns(runtime.GOMAXPROCS(0))),
		start: start,

		confine:   confines,
		resources: cfg.Resources,
		temps:     openTemps(cmp.Or(cfg.Temp, os.TempDir())),
		signals:   peers,
	}, nil
}

func (l *launcher) close() error {
	l.dir.close()
	l.temps.close()
	l.signals.close()
	return errors.Join(l.logs.Close(), l.null.Close())
}

// launch starts a valid request's command in an absolute directory.
func (l *launcher) launch(req shared.ExecuteRequest, dir string, number int) (*job.Job, error) {
	bash, err := l.findBash()
	if err != nil {
		return nil, err
	}
	limits, err := confine.NewLimits(req.Resources, &l.cgroups)
	if err != nil {
		return nil, err
	}
	plan, err := confine.NewPlan(l.confine, req.Confine, dir, req.Resources != (shared.Resources{}))
	if err != nil {
		limits.Remove()
		return nil, err
	}
	within := confinement{launcher: l, plan: plan, bash: bash, dir: dir, env: req.Env}
	j, err := job.Start(job.Config{
		Start:   l.start,
		Logger:  l.log,
		Logs:    l.logs,
		Turns:   l.turns,
		Bash:    bash,
		Null:    l.null,
		Dir:     dir,
		Place:   l.dir.way(dir),
		Name:    strconv.Itoa(number),
		Limits:  limits,
		Peers:   l.signals.peers,
		Confine: within.prepare,
	}, req)
	if err != nil {
		l.bash.Store(nil) // it may have moved
		return nil, startError(err, bash, dir)
	}
	return j, nil
}

// confinement prepares the restrictions and the environment of one command.
type confinement struct {
	launcher *launcher
	plan     confine.Plan
	bash     string
	dir      string
	env      []string // of the request
}

// prepare makes the command's TMPDIR and environment, and says how to restrict the command.
// terminal is the file of its terminal; "": it has none.
func (c confinement) prepare(terminal string) (job.Confinement, error) {
	l := c.launcher
	prepared := job.Confinement{Text: c.plan.Text(), Release: func() {}}
	var own []string
	if c.plan.Confines() {
		_ = l.logs.Open() // now: a command that may write there could later put a link in its place
		if l.logs.Below(c.plan.Writable()) {
			prepared.Text += "; it may change its logs"
		}
	}
	temp := ""
	if c.plan.NeedsTemp() {
		var err error
		temp, err = l.temps.add()
		if err != nil {
			return prepared, c.plan.Failed("cannot make a TMPDIR for the command: %v", err)
		}
		own = []string{"TMPDIR=" + temp}
	}
	if c.plan.Restricts() {
		var listener *confine.Listener
		prepared.Restrict = func() (err error) {
			listener, err = c.plan.Restrict(c.bash, temp, terminal)
			if err != nil {
				return c.plan.Failed("cannot confine the command: %v", err)
			}
			return nil
		}
		prepared.Begun = func(g *process.Group, guard func(func())) { l.signals.begin(listener, g, guard) }
		prepared.Release = func() {
			l.signals.end(listener)
			if temp != "" {
				l.temps.remove(temp)
			}
		}
	}
	base := l.env
	if terminal != "" {
		base = l.ttys
	}
	env := override(slices.Clone(base), append(own, c.env...))
	prepared.Env = override(env, []string{"PWD=" + c.dir})
	return prepared, nil
}

func (l *launcher) findBash() (string, error) {
	if path := l.bash.Load(); path != nil {
		return *path, nil
	}
	path, err := exec.LookPath("bash")
	_, hasPath := os.LookupEnv("PATH")
	if err != nil && !hasPath {
		path, err = exec.LookPath("/bin/bash") // without PATH, bash uses the system's default
	}
	if err != nil {
		return "", fail(shared.CodeStart,
			"cannot find bash in PATH (%s): install bash, or start the host with a PATH that has it", os.Getenv("PATH"))
	}
	l.bash.Store(&path)
	return path, nil
}

// startError says what the caller can do about a failed start.
func startError(err error, bash, dir string) error {
	if ours, is := errors.AsType[*shared.Error](err); is {
		return ours
	}
	switch {
	case checkDir(dir) != nil:
		return fail(shared.CodeStart, "cannot run in %q: %v", dir, checkDir(dir))
	case errors.Is(err, syscall.E2BIG):
		return fail(shared.CodeStart, "cannot start bash: the environment is too large for the system")
	case errors.Is(err, syscall.EAGAIN):
		return fail(shared.CodeStart, "cannot start bash: the system allows no more processes; end some and try again")
	}
	return fail(shared.CodeStart, "cannot start %s: %v", bash, err)
}

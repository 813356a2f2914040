package job

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// View says which output a Result shows.
type View = output.View

// Result accounts for the job. Unless view is a Peek, its output counts as shown from now on, and
// so does the end of bash if it reports that. It waits, for up to lastLook, until it knows which
// processes bash has left running: a Result without left-overs has all output and belongs to no
// job.
func (j *Job) Result(limits shared.Limits, view View) *shared.Result {
	r := j.state()
	if r.Status != shared.StatusRunning {
		r.Leftover = j.leftover()
	}
	view.For = r
	j.account(r, func(s *output.Stream) shared.Output { return s.Show(limits, view) }, view.Peek)
	if r.Status == shared.StatusRunning {
		r.Waiting = j.group.Waiting(j.stdin)
	}
	return r
}

// Outline is a Result that shows neither output nor left-overs.
func (j *Job) Outline() *shared.Result {
	r := j.state()
	j.account(r, (*output.Stream).Outline, false)
	return r
}

// account adds the output to a Result.
func (j *Job) account(r *shared.Result, show func(*output.Stream) shared.Output, peek bool) {
	if r.Status != shared.StatusRunning && !peek {
		j.mu.Lock()
		j.toldEnd = true
		j.mu.Unlock()
	}
	r.Stdout = j.stdout.show(show)
	r.Screen = j.screen.text()
	if j.stderr != nil {
		r.Stderr = j.stderr.show(show)
	}
}

func (s *source) show(show func(*output.Stream) shared.Output) shared.Output {
	out := show(s.text)
	out.LiveSkipped = s.copy.missed()
	return out
}

// Unsee makes the output of a Result count as not shown: the host never saw the Result.
func (j *Job) Unsee(r *shared.Result) {
	for _, s := range j.sources() {
		s.text.Unsee(r)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.toldEnd = false
}

// HasToldEnd reports whether a Result has said that bash has ended.
func (j *Job) HasToldEnd() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.toldEnd
}

// Summary accounts for the job without its output, as it is now.
func (j *Job) Summary() *shared.Result {
	r := j.state()
	if r.Status != shared.StatusRunning && j.Running() {
		r.Leftover = j.Processes()
	}
	return r
}

// state is a Result without output and left-overs.
func (j *Job) state() *shared.Result {
	r := &shared.Result{
		PID:      j.PID,
		Command:  j.req.Command,
		Dir:      j.dir,
		Confined: j.within.Text,
		Status:   shared.StatusRunning,
		ExitCode: -1,
		Started:  j.Started,
		Duration: time.Since(j.Started),
	}
	j.mu.Lock()
	end := j.outcome
	r.Exceeded = j.exceeded
	j.mu.Unlock()
	r.Usage = j.limits.Usage(j.group.Usage())
	if !end.ended {
		return r
	}
	r.ExitCode = end.status.Code
	r.Duration = end.duration
	if end.status.Signal != 0 {
		r.Signal = cmp.Or(process.SignalName(end.status.Signal), end.status.Signal.String())
	}
	r.Status, r.Cause = status(end)
	return r
}

// lastLook bounds how long a Result waits for processes that are ending.
const lastLook = 2 * time.Second

// leftover lists the processes that bash has left running. If it finds none, it waits
// for Over.
func (j *Job) leftover() []shared.Process {
	deadline := time.Now().Add(lastLook)
	for j.Running() && time.Now().Before(deadline) {
		if left := j.Processes(); len(left) > 0 {
			return left
		}
		// One look may miss a process that forks and ends: look again.
		select {
		case <-j.over:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Processes lists the processes that live, without bash, by pid.
func (j *Job) Processes() []shared.Process {
	var processes []shared.Process
	for _, p := range j.group.Members() {
		if p.PID != j.PID {
			processes = append(processes, shared.Process{PID: p.PID, Command: p.Command})
		}
	}
	slices.SortFunc(processes, func(a, b shared.Process) int { return a.PID - b.PID })
	return processes
}

// Has reports whether a live process with this pid belongs to the job.
func (j *Job) Has(pid int) bool { return j.group.Has(pid) }

// LeavesProcesses reports whether bash, which has ended, left processes running. It waits
// for those that are ending, for up to lastLook.
func (j *Job) LeavesProcesses() bool { return len(j.leftover()) > 0 || j.Running() }

func status(end outcome) (shared.Status, shared.Cause) {
	switch {
	case end.cause != "":
		return shared.StatusKilled, end.cause
	case end.status.Code == 0:
		return shared.StatusCompleted, ""
	}
	return shared.StatusFailed, ""
}

// HasOutput reports whether the command has written anything.
func (j *Job) HasOutput() bool {
	isWritten := func(s *source) bool { return s.text.Written() }
	return slices.ContainsFunc(j.sources(), isWritten)
}

// OutputChanged returns channels that are closed at the next output; the second one
// is nil if the streams are merged.
func (j *Job) OutputChanged() (stdout, stderr <-chan struct{}) {
	if j.stderr != nil {
		stderr = j.stderr.text.Changed()
	}
	return j.stdout.text.Changed(), stderr
}

// Watch looks for a match in output.
type Watch struct {
	streams []*output.Watch
}

// Watch begins to look for re: in all output if all is set, else in the output that no
// Result has shown.
func (j *Job) Watch(re *regexp.Regexp, all bool) *Watch {
	w := new(Watch)
	for _, s := range j.sources() {
		w.streams = append(w.streams, s.text.Watch(re, all))
	}
	return w
}

// Match looks at the output since the last call. If there is much, it looks at the
// next part only and returns true for more.
func (w *Watch) Match() (found, more bool) {
	for _, s := range w.streams {
		hit, rest := s.Match()
		found = found || hit
		more = more || rest
	}
	return found, more
}

// Log describes the job for a log line, without its output.
func (j *Job) Log() []any {
	r := j.state()
	fields := []any{
		"pid", r.PID,
		"mode", j.req.Mode,
		"status", r.Status,
		"exit_code", r.ExitCode,
		"duration", r.Duration.Round(time.Microsecond).String(),
	}
	if r.Signal != "" {
		fields = append(fields, "signal", r.Signal)
	}
	if r.Cause != "" {
		fields = append(fields, "cause", r.Cause)
	}
	return fields
}

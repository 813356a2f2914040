package job

import (
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"bashplugin/plugin/internal/confine"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// Job is one command, from its start to the end of the last process that it
// left behind. It is safe for concurrent use.
type Job struct {
	PID     int
	Started time.Time
	dir     string
	log     hclog.Logger
	limits  *confine.Limits
	within  Confinement

	// req is the request, without the fields that only the start needs.
	req shared.ExecuteRequest

	group  *process.Group
	stdout *source
	stderr *source // nil: merged into stdout
	copies [2]*liveCopy
	input  *input  // nil: its stdin is /dev/null
	screen *screen // nil: it has no terminal

	// stdin is the target of the link in /proc/PID/fd for an open stdin, "" if the command
	// has none.
	stdin string

	// ended is closed when bash has ended, its output is read and outcome is set.
	ended chan struct{}

	// over is closed when no process of the job lives and all output is read.
	over chan struct{}

	// released is closed when nothing of the job is left, such as its TMPDIR.
	released chan struct{}

	mu      sync.Mutex   // guards the fields below
	cause   shared.Cause // why this tool ends the job
	outcome outcome
	failure error // why there is no outcome

	// exceeded says which limit the command has exceeded and how, "" if none.
	exceeded string

	// toldEnd is set once a Result has said that bash has ended.
	toldEnd bool
}

// outcome is how bash ended.
type outcome struct {
	ended    bool
	status   process.Status
	duration time.Duration

	// cause is why this tool ended bash, "" if bash ended by itself.
	cause shared.Cause
}

// sources returns the streams that the command has.
func (j *Job) sources() []*source {
	var all []*source
	for _, s := range []*source{j.stdout, j.stderr} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// follow waits for the end of bash and of the left-over processes.
func (j *Job) follow() {
	<-j.group.Exited()
	duration := time.Since(j.Started)
	j.Guard(j.drain)
	left := j.group.LeftBehind()
	if left {
		j.Guard(j.drain) // output that a tee, for example, has passed on meanwhile
	} else {
		j.finish()
	}
	cause, how := j.limits.Broken(j.group.Status().Code)
	j.mu.Lock()
	if how != "" && j.cause == "" {
		j.cause = cause
		j.exceeded = how
	}
	j.outcome = outcome{
		ended:    true,
		status:   j.group.Status(),
		cause:    j.cause,
		duration: duration,
	}
	j.mu.Unlock()
	if !left {
		close(j.over)
	}
	close(j.ended)
	if left {
		<-j.group.Gone()
		j.finish()
		j.blame(j.limits.Broken(0))
		close(j.over)
	}
	j.Guard(j.within.Release)
	j.Guard(j.limits.Remove)
	close(j.released)
}

// drain reads the output that was written so far.
func (j *Job) drain() {
	for _, s := range j.sources() {
		s.drain()
	}
}

// finish reads the rest of the output and closes the streams. It is called when no process of the
// job lives.
func (j *Job) finish() {
	j.Guard(j.drain)
	for _, s := range j.sources() {
		j.Guard(s.close)
	}
	j.Guard(j.input.close)
	j.Guard(j.screen.close)
	j.closeCopies() // with Merge, the copy for stderr has no source that closes it
}

// Ended is closed when bash has ended and all its output was read.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// HasEnded reports whether bash has ended, even if Ended is not closed yet.
func (j *Job) HasEnded() bool { return !j.group.LeaderLives() }

// Over is closed when the processes that bash left behind have ended, too.
func (j *Job) Over() <-chan struct{} { return j.over }

// Released is closed when, after Over, nothing of the job is left outside of this process.
func (j *Job) Released() <-chan struct{} { return j.released }

// Running reports whether bash or a process that it left behind lives.
func (j *Job) Running() bool {
	select {
	case <-j.over:
		return false
	default:
		return true
	}
}

// Keep makes the logs, for a command that becomes a job.
func (j *Job) Keep() {
	for _, s := range j.sources() {
		s.text.Keep()
	}
}

// End ends the job's processes by sig, and after grace by SIGKILL. It returns when
// none lives and all output is read, or when one could not be ended.
func (j *Job) End(cause shared.Cause, sig syscall.Signal, grace time.Duration) {
	j.blame(cause, "")
	if sig == syscall.SIGKILL {
		j.limits.Kill()
	}
	hasEnded := j.group.End(sig, grace)
	if hasEnded {
		<-j.over
	}
}

// watch ends the job once it is past a limit that the kernel does not enforce.
func (j *Job) watch() {
	limits := j.limits.Watched
	if limits == (shared.Resources{}) {
		return
	}
	j.group.Watch(limits, func(now shared.Usage) bool {
		cause, how := limits.Exceeded(now)
		if how != "" {
			j.blame(cause, how)
			go j.End(cause, syscall.SIGKILL, 0) // it returns when the job is over
		}
		return how == ""
	})
}

// blame records why this tool ends the job, unless a reason is recorded already. While bash
// lives, the reason becomes the cause of its end.
func (j *Job) blame(cause shared.Cause, exceeded string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause == "" && j.exceeded == "" {
		j.exceeded = exceeded
	}
	if j.cause == "" && j.group.LeaderLives() {
		j.cause = cause
	}
}

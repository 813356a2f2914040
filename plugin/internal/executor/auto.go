package executor

import (
	"time"

	"bashplugin/plugin/internal/job"
	"bashplugin/shared"
)

// ripeness tells when a development command has run for autoDelay and has
// written something.
type ripeness struct {
	c    chan struct{}
	quit chan struct{}
}

func (r ripeness) stop() {
	if r.quit != nil {
		close(r.quit)
	}
}

// ripe never tells of other commands, nor in other modes.
func (e *Executor) ripe(j *job.Job, req shared.ExecuteRequest) ripeness {
	if req.Mode != shared.ModeAuto || !isDevCommand(req.Command) {
		return ripeness{}
	}
	r := ripeness{c: make(chan struct{}), quit: make(chan struct{})}
	e.wg.Go(func() {
		timer := time.NewTimer(autoDelay)
		defer timer.Stop()
		select {
		case <-r.quit:
			return
		case <-timer.C:
		}
		for {
			stdout, stderr := j.OutputChanged()
			if j.HasOutput() {
				close(r.c)
				return
			}
			select {
			case <-r.quit:
				return
			case <-stdout:
			case <-stderr:
			}
		}
	})
	return r
}

package host

import (
	"errors"
	"fmt"
	"io"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/internal/instance"
	"bashplugin/shared/internal/session"
)

// link is a session with a plugin, and the plugin's process if this host started it. Each way to
// reach a plugin, launch, attach and Connect, makes a link.
type link struct {
	bash    shared.Bash
	session *session.Host

	// id is the plugin's pid; for a plugin on another machine it is a negative number.
	id int

	// logs is where the plugin's commands have their logs; "": unknown.
	logs string

	// held is set if the plugin was started by hand: a debugger may stop it.
	held bool

	// instance is the plugin's process; nil: this host did not start it, and does not end it.
	instance *instance.Instance
}

// isGone reports whether no call can be made any more: the session has ended, with the plugin's process
// or for another reason.
func (l *link) isGone() bool {
	select {
	case <-l.session.Ended():
		return true
	default:
		return false
	}
}

// kill ends a plugin that is gone or does not answer. It does not wait.
func (l *link) kill() {
	if l.instance != nil {
		l.instance.Kill()
	}
	go l.session.Close()
}

// lost adds to the ErrCrashed of a call under way what becomes of its command.
func (l *link) lost(err error) error {
	text := err.Error()
	switch {
	case l.held:
		return err
	case l.instance == nil:
		text += "; the plugin ends the session's commands by itself (that of a call under way may have run), " +
			"and the next call begins another session"
	default:
		text += "; its commands are ended (that of a call under way may have run), " +
			"and the next call starts a fresh plugin"
	}
	if l.logs != "" {
		text += "; what was logged is in " + l.logs
	}
	return &shared.Error{Code: shared.CodeCrashed, Message: text}
}

// Bounds of Close.
const (
	closePatience = 2 * time.Second         // for the plugin to end its commands
	quitPatience  = 1 * time.Second         // for the plugin to end by itself after that
	endPatience   = 4800 * time.Millisecond // in all, until the guardian has ended what the plugin left
)

// end ends the commands, the plugin and the connection, by request at first and then
// by SIGKILL. If it returns nil, nothing is left.
func (l *link) end() error {
	begin := time.Now()
	answered, err := l.endCommands()
	switch {
	case answered && l.instance != nil:
		late := time.AfterFunc(quitPatience, l.kill)
		defer late.Stop()
		l.session.Quit()
		l.session.Close()
	case answered, l.held:
		l.session.Close()
	case l.instance == nil && !l.isGone():
		err = l.unanswered()
		l.kill()
	default:
		l.kill()
	}
	if l.instance != nil && !l.instance.AwaitEnd(endPatience-time.Since(begin)) {
		message := fmt.Sprintf("the plugin (pid %d) or one of its commands could not be ended in time", l.id)
		return &shared.Error{Code: shared.CodeInternal, Message: message}
	}
	return err
}

// unanswered says what becomes of the session of a plugin on another machine that has not answered.
func (l *link) unanswered() error {
	message := "the plugin has not ended the session's commands in time: " +
		"it was told that the session ends, and goes on ending them by itself"
	if l.session.IsAway() {
		message = "there is no connection to the plugin now: it ends the session's commands after Linger"
	}
	return &shared.Error{Code: shared.CodeCrashed, Message: message}
}

// endCommands makes the plugin end its commands, unless it was started by hand. It
// returns whether the plugin answered, and the error that it answered with.
func (l *link) endCommands() (answered bool, err error) {
	if l.held || l.isGone() {
		return false, nil
	}
	done := make(chan error, 1)
	go func() { done <- l.bash.(io.Closer).Close() }()
	select {
	case err = <-done:
	case <-time.After(closePatience):
		return false, nil
	}
	if errors.Is(err, shared.ErrCrashed) {
		return false, nil
	}
	return true, err
}

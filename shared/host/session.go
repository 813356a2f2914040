package host

import (
	"context"

	"bashplugin/shared"
	"bashplugin/shared/internal/half"
)

// session is the Bash that shared.Plugin dispenses, with what this package alone may do
// with it.
type session interface {
	shared.Bash
	Configure(half.HostConfig)
	Open(half.Line, *openArgs) error
	LoseLine(over bool)
	EndCommands(context.Context) error
	Logs() string
}

type openArgs = half.OpenArgs[shared.SessionConfig]

// newSession returns a session that is still to be opened.
func newSession() session {
	bash, _ := new(shared.Plugin).Client(nil, nil)
	return bash.(session)
}

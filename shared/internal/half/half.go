// Package half is what packages host and serve share with package shared about the two
// halves of a session, beyond the contract. Package shared has the halves, because
// go-plugin gets them from its Plugin.
package half

import (
	"net/rpc"
	"time"

	"github.com/hashicorp/go-plugin"
)

// CancelPatience is how long a call whose context has ended waits for the plugin's
// answer before it returns the context's error.
const CancelPatience = 3 * time.Second

// Line is a connection to the plugin.
type Line struct {
	Broker *plugin.MuxBroker
	Conn   *rpc.Client
}

// HostConfig says what the host's half knows of its plugin.
type HostConfig struct {
	Resumes bool        // a line that is lost is replaced
	Stopped func() bool // reports whether the plugin's process is stopped; nil: unknown
	Dir     string      // where commands run; "": in the plugin's directory
	Held    bool        // the plugin may be under a debugger: an answer may take any time
}

// OpenArgs begins a session: a host that started the plugin gives the lifeline, a host on
// another machine the rest. With Again the session exists and goes on.
type OpenArgs[Config any] struct {
	Lifeline uint32
	Session  string
	Again    bool
	Linger   time.Duration
	Config   Config
}

// Session is the plugin's half of a session with a host on another machine.
type Session interface {
	SetBroker(*plugin.MuxBroker) // of the present connection; nil: none
	Linger() time.Duration       // how long it outlives a lost connection; 0 once it is closed
	Close() error                // ends its commands
	End()                        // cancels its calls: the host is gone
}

package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"runtime/debug"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared/internal/session"
)

// opened is what a plugin says of a new session, or why it has not begun one.
type opened struct {
	Logs string // where the logs of its commands are
	Err  *Error
}

// OpenSession begins a session with a plugin and returns its Bash, which is an io.Closer: Close ends all
// commands. It is for package host.
func OpenSession(
	ctx context.Context,
	config session.Config,
	settings SessionConfig,
) (*session.Host, Bash, string, error) {
	complete, err := sessionConfig(config, settings)
	if err != nil {
		return nil, nil, "", err
	}
	s, info, err := session.Open(ctx, complete)
	if err != nil {
		return nil, nil, "", refusal(err)
	}
	about, err := session.Decode[opened](info)
	if err != nil {
		s.Close()
		return nil, nil, "", err
	}
	return s, &client{session: s}, about.Logs, nil
}

// dispensed returns the Bash of a session over a connection that go-plugin has made.
func dispensed(broker *plugin.MuxBroker, conn *rpc.Client) (Bash, error) {
	config, err := sessionConfig(session.Config{}, SessionConfig{})
	if err != nil {
		return nil, err
	}
	s, _, err := session.Over(broker, conn, config)
	if err != nil {
		return nil, refusal(err)
	}
	return &client{session: s}, nil
}

func sessionConfig(config session.Config, settings SessionConfig) (session.Config, error) {
	text, err := session.Encode(settings)
	config.Plugin = PluginName
	config.Version = int(Handshake.ProtocolVersion)
	config.Settings = text
	config.Cause = causeName
	return config, err
}

// refusal explains why a plugin does not take a session.
func refusal(err error) error {
	refused, ok := errors.AsType[*session.Refused](err)
	if !ok {
		return err
	}
	if refused.Version != int(Handshake.ProtocolVersion) {
		message := "the plugin speaks another version of the contract than this host, and " + Older(refused.Version)
		return &Error{Code: CodeStart, Message: message}
	}
	about, err := session.Decode[opened](refused.Info)
	if err == nil && about.Err != nil {
		return about.Err
	}
	message := "the plugin takes no new sessions, because it is about to end: connect to another one"
	return &Error{Code: CodeClosed, Message: message}
}

// Older says which side is older, if a plugin speaks another version of the contract than this host.
func Older(plugin int) string {
	host := int(Handshake.ProtocolVersion)
	older := "the plugin is the older one"
	if plugin > host {
		older = "this host is the older one"
	}
	return fmt.Sprintf("%s (%d, this host %d): build both from one version", older, plugin, host)
}

// Opening says what a new session serves.
type Opening struct {
	Bash Bash
	Logs string // of its commands; "": none
	End  func() // called once, when the session has ended
}

// NewServer returns the plugin's half of the sessions of many hosts. open begins one; a host on another
// machine is named by SessionConfig.Host. It is for package serve.
func NewServer(open func(SessionConfig) (Opening, error)) *session.Server {
	return &session.Server{
		Version: int(Handshake.ProtocolVersion),
		Cause:   namedCause,
		Open: func(identity string, settings []byte) (session.Served, []byte, bool) {
			var opening Opening
			config, err := session.Decode[SessionConfig](settings)
			config.Host = identity
			if err == nil {
				opening, err = openSafely(open, config)
			}
			info, _ := session.Encode(opened{Logs: opening.Logs, Err: wireError(err)}) // cannot fail
			return session.Served{Value: opening.Bash, End: opening.End}, info, err == nil
		},
	}
}

// openSafely calls open. A panic there is an error for this host alone.
func openSafely(open func(SessionConfig) (Opening, error), config SessionConfig) (opening Opening, err error) {
	defer func() {
		p := recover()
		if p != nil {
			err = &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin panicked: %v\n%s", p, debug.Stack())}
		}
	}()
	return open(config)
}

// NewService returns the net/rpc service for one connection. It is for package serve.
func NewService(endpoint *session.Endpoint) any { return service{endpoint} }

// The causes of a cancelled context, as they travel.
const (
	causeLetRun = "let run"
	causeDetach = "detach"
)

func causeName(cause error) string {
	switch {
	case errors.Is(cause, ErrDetach):
		return causeDetach
	case errors.Is(cause, ErrLetRun):
		return causeLetRun
	}
	return ""
}

func namedCause(name string) error {
	switch name {
	case causeDetach:
		return ErrDetach
	case causeLetRun:
		return ErrLetRun
	}
	return context.Canceled
}

// executeArgs is an ExecuteRequest without its writers.
type executeArgs struct {
	Request        ExecuteRequest
	Stdout, Stderr bool // whether the request has that writer
}

// answer is a Result or an Error. net/rpc would drop the reply of a handler that returns an error, so
// the reply holds it.
type answer struct {
	Result *Result
	Err    *Error
}

// wireError returns an implementation's error as an Error for a reply.
func wireError(err error) *Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: CodeInternal, Message: err.Error()}
	}
	return &Error{Code: e.Code, Message: err.Error(), Field: e.Field}
}

var _ io.Closer = (*client)(nil)

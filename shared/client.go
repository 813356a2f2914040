package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"slices"
	"time"

	"bashplugin/shared/internal/session"
)

// client is the host's side: a Bash that sends its calls.
type client struct {
	session *session.Host
}

var _ Bash = (*client)(nil)

// Execute implements Bash.
func (c *client) Execute(ctx context.Context, req ExecuteRequest) (*Result, error) {
	started := time.Now()
	args := executeArgs{Request: req, Stdout: req.Stdout != nil, Stderr: req.Stderr != nil}
	args.Request.Stdout = nil
	args.Request.Stderr = nil
	args.Request.Env = slices.Clone(req.Env) // the caller may change req.Env once Execute has returned
	timeout := cmp.Or(req.Timeout, req.Mode.DefaultTimeout())
	limit := session.Limit{Answer: timeout}
	if !req.Mode.Waits() {
		limit.Answer = 0
	}
	if !args.Stdout && !args.Stderr {
		return call(ctx, c.session, "Execute", args, nil, limit)
	}
	stream := c.session.Stream()
	live := receiveLive(stream, req.Stdout, req.Stderr)
	result, err := call(ctx, c.session, "Execute", args, stream, limit)
	if err != nil {
		live.stop()
		return nil, err
	}
	rest := liveRest
	if req.Lossless && result.Status != StatusRunning && len(result.Leftover) == 0 {
		rest = max(rest, timeout-time.Since(started))
	}
	live.wait(ctx, rest)
	return result, nil
}

// Check implements Bash.
func (c *client) Check(ctx context.Context, req CheckRequest) (*Result, error) {
	return call(ctx, c.session, "Check", req, nil, session.Limit{Answer: req.Wait})
}

// Kill implements Bash.
func (c *client) Kill(ctx context.Context, req KillRequest) (*Result, error) {
	grace := max(0, cmp.Or(req.Grace, DefaultGrace))
	return call(ctx, c.session, "Kill", req, nil, session.Limit{Answer: grace, Cancel: grace})
}

// Close ends all that the session runs.
func (c *client) Close() error {
	_, err := call(context.Background(), c.session, "Close", 0, nil, session.Limit{})
	return err
}

// call makes a call, and explains why there is no answer.
func call[Q any](
	ctx context.Context,
	s *session.Host,
	method string,
	request Q,
	live *session.Reader,
	limit session.Limit,
) (*Result, error) {
	reply, err := session.Do[Q, answer](ctx, s, method, request, live, limit)
	switch {
	case err != nil:
		return nil, callError(err)
	case reply.Err != nil:
		return nil, reply.Err
	case reply.Result == nil:
		return nil, &Error{Code: CodeInternal, Message: "the plugin answered with neither a Result nor an error"}
	}
	return reply.Result, nil
}

// callError explains the error of a call that has no answer.
func callError(err error) error {
	lost, isLost := errors.AsType[*session.Lost](err)
	_, isUnknown := errors.AsType[rpc.ServerError](err)
	switch {
	case isLost && lost.Planned:
		return &Error{Code: CodeCrashed, Message: "the plugin has ended the session: " + lost.Reason}
	case isLost:
		return &Error{Code: CodeCrashed, Message: "the plugin is gone: " + lost.Reason}
	case isUnknown:
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the plugin does not understand the call: %v", err)}
	}
	return err
}

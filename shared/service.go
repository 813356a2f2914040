package shared

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"bashplugin/shared/internal/session"
)

// service is the plugin's side: it passes the calls of one connection on to the session's Bash. Its
// exported methods are the net/rpc service, with those of the Endpoint.
type service struct{ *session.Endpoint }

// Execute serves Bash.Execute.
func (s service) Execute(request session.Request[executeArgs], reply *session.Reply[answer]) error {
	return serve(s, request, reply, func(
		ctx context.Context,
		call *session.Call,
		args executeArgs,
	) (result *Result, err error) {
		req := args.Request
		if call.Live != nil {
			live := &liveSender{stream: call.Live, open: 1}
			if args.Stdout {
				req.Stdout = live.writer(frameStdout)
			}
			if args.Stderr {
				req.Stderr = live.writer(frameStderr)
			}
			defer func() { go live.returned(result) }() // the reply does not wait for a slow host
		}
		return bashOf(call).Execute(ctx, req)
	})
}

// Check serves Bash.Check.
func (s service) Check(request session.Request[CheckRequest], reply *session.Reply[answer]) error {
	return serve(s, request, reply, func(ctx context.Context, call *session.Call, req CheckRequest) (*Result, error) {
		return bashOf(call).Check(ctx, req)
	})
}

// Kill serves Bash.Kill.
func (s service) Kill(request session.Request[KillRequest], reply *session.Reply[answer]) error {
	return serve(s, request, reply, func(ctx context.Context, call *session.Call, req KillRequest) (*Result, error) {
		return bashOf(call).Kill(ctx, req)
	})
}

// Close ends the session's commands. The session then ends with its connection.
func (s service) Close(request session.Request[int], reply *session.Reply[answer]) error {
	return serve(s, request, reply, func(_ context.Context, call *session.Call, _ int) (*Result, error) {
		call.SetLinger(0)
		closer, ok := bashOf(call).(io.Closer)
		if !ok {
			return new(Result), nil
		}
		return new(Result), closer.Close()
	})
}

func bashOf(call *session.Call) Bash { return call.Served().(Bash) }

// serve answers a call. A panic ends that call alone.
func serve[Q any](
	s service,
	request session.Request[Q],
	reply *session.Reply[answer],
	f func(context.Context, *session.Call, Q) (*Result, error),
) error {
	return session.Answer(s.Endpoint, request, reply, func(call *session.Call, args Q) (a answer) {
		defer func() {
			p := recover()
			if p != nil {
				message := fmt.Sprintf("the plugin panicked: %v\n%s", p, debug.Stack())
				a = answer{Err: &Error{Code: CodeInternal, Message: message}}
			}
		}()
		result, err := f(call.Context, call, args)
		if err != nil {
			return answer{Err: wireError(err)}
		}
		notice, ok := bashOf(call).(interface{ Unseen(*Result) })
		if ok {
			call.Unseen(func() { notice.Unseen(result) })
		}
		return answer{Result: result}
	})
}

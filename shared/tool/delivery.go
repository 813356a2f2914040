package tool

import (
	"context"
	"fmt"

	"bashplugin/shared"
)

// errMaxWait is why a call ends at Options.MaxWait: then its answer is delivered.
var errMaxWait = fmt.Errorf("the longest wait is over: %w", ErrLetRun)

// delivering is a Bash that counts output as shown only if the answer will be delivered.
// The client of a call whose context has ended otherwise has given up waiting for it.
type delivering struct{ shared.Bash }

// Execute implements shared.Bash.
func (d delivering) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	r, err := d.Bash.Execute(ctx, req)
	if err != nil || r.Status != shared.StatusRunning || context.Cause(ctx) != errMaxWait { //nolint:errorlint // this very one
		return r, err
	}
	return d.Bash.Check(context.WithoutCancel(ctx), shared.CheckRequest{PID: r.PID, Limits: req.Limits})
}

// Check implements shared.Bash.
func (d delivering) Check(ctx context.Context, req shared.CheckRequest) (*shared.Result, error) {
	if req.Wait == 0 || req.Peek {
		return d.Bash.Check(ctx, req)
	}
	req.Peek = true
	waited, err := d.Bash.Check(ctx, req)
	if err != nil || ctx.Err() != nil && context.Cause(ctx) != errMaxWait { //nolint:errorlint // this very one
		return waited, err
	}
	req.Peek, req.Wait, req.WaitFor, req.Input, req.CloseInput = false, 0, "", "", false
	r, err := d.Bash.Check(context.WithoutCancel(ctx), req)
	if err == nil {
		r.Matched = waited.Matched
	}
	return r, err
}

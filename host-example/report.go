package main

import (
	"errors"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// report is an Answer for programs: the structured content of an MCP result.
type report struct {
	ID         string          `json:"id,omitempty"` // of the job, in a dialect with ids
	PID        int             `json:"pid,omitempty"`
	Status     shared.Status   `json:"status,omitempty"`
	Cause      shared.Cause    `json:"cause,omitempty"`
	ExitCode   *int            `json:"exit_code,omitempty"` // once bash has ended
	Signal     string          `json:"signal,omitempty"`
	DurationMS int64           `json:"duration_ms"`
	Stdout     *reportStream   `json:"stdout,omitempty"`
	Stderr     *reportStream   `json:"stderr,omitempty"`
	Leftover   []reportProcess `json:"leftover,omitempty"`
	Error      *reportError    `json:"error,omitempty"` // why there is no outcome
}

type reportStream struct {
	Head       string `json:"head,omitempty"`
	Content    string `json:"content"`
	Truncated  bool   `json:"truncated"`
	TotalLines int64  `json:"total_lines"`
	TotalBytes int64  `json:"total_bytes"`
	Path       string `json:"path,omitempty"`
	PathError  string `json:"path_error,omitempty"` // why the log is incomplete
}

type reportProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

type reportError struct {
	Code    shared.Code `json:"code"`
	Message string      `json:"message"`
}

func newReport(a tool.Answer) report {
	out := report{ID: a.ID, Error: newReportError(a.Err)}
	r := a.Result
	if r == nil {
		return out
	}
	out.PID, out.Status, out.Cause, out.Signal = r.PID, r.Status, r.Cause, r.Signal
	if r.Status != shared.StatusRunning {
		out.ExitCode = &r.ExitCode
	}
	out.DurationMS = r.Duration.Milliseconds()
	out.Stdout, out.Stderr = newReportStream(r.Stdout), newReportStream(r.Stderr)
	for _, p := range r.Leftover {
		out.Leftover = append(out.Leftover, reportProcess{p.PID, p.Command})
	}
	return out
}

// newReportStream returns nil for a stream without output and without a log.
func newReportStream(o shared.Output) *reportStream {
	if o.TotalBytes == 0 && o.Path == "" && o.PathError == "" {
		return nil
	}
	return &reportStream{o.Head, o.Content, o.Truncated, o.TotalLines, o.TotalBytes, o.Path, o.PathError}
}

func newReportError(err error) *reportError {
	if err == nil {
		return nil
	}
	var e *shared.Error
	if errors.As(err, &e) {
		return &reportError{e.Code, e.Message}
	}
	return &reportError{shared.CodeInternal, err.Error()}
}

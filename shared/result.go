package shared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// fields are those of a Result, without its methods.
type fields Result

// resultJSON has no exit code before the end, and times in milliseconds.
type resultJSON struct {
	fields
	ExitCode   *int      `json:"exit_code,omitempty"`
	DurationMS int64     `json:"duration_ms,omitempty"`
	Usage      usageJSON `json:"usage,omitzero"`
}

type usageJSON struct {
	Usage
	CPUMS int64 `json:"cpu_ms,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Result) MarshalJSON() ([]byte, error) {
	out := resultJSON{
		fields:     fields(r),
		DurationMS: r.Duration.Milliseconds(),
		Usage:      usageJSON{r.Usage, r.Usage.CPU.Milliseconds()},
	}
	if r.Status != "" && r.Status != StatusRunning {
		out.ExitCode = &r.ExitCode
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(out)
	return text.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Result) UnmarshalJSON(text []byte) error {
	var in resultJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*r = Result(in.fields)
	r.Duration = time.Duration(in.DurationMS) * time.Millisecond
	r.Usage = in.Usage.Usage
	r.Usage.CPU = time.Duration(in.Usage.CPUMS) * time.Millisecond
	if in.ExitCode != nil {
		r.ExitCode = *in.ExitCode
	} else if r.Status == StatusRunning {
		r.ExitCode = -1
	}
	return nil
}

// String describes a Result for people. Its first line says how the command ended, or
// that it runs, as in "failed, exit code 3, 12ms".
func (r Result) String() string {
	text := fmt.Sprintf("%s\npid %d: %.100q", r.outcome(), r.PID, r.Command)
	if r.Status == "" { // with AllJobs
		text = "jobs:"
	}
	for _, job := range r.Jobs {
		text += "\n" + job.String()
	}
	if r.Usage != (Usage{}) {
		text += "\nused: " + r.Usage.String()
	}
	text += processes("left running", r.Leftover) + processes("ended", r.Ended)
	return text + r.Stdout.section("stdout") + r.Stderr.section("stderr")
}

func processes(heading string, all []Process) (text string) {
	for _, p := range all {
		text += fmt.Sprintf("\n%s: %d %.100q", heading, p.PID, p.Command)
	}
	return text
}

func (r Result) outcome() string {
	text := string(r.Status)
	if r.Cause != "" && r.Cause != CauseKill {
		text += " (" + string(r.Cause) + ")"
	}
	if r.Status != StatusRunning {
		text += strings.TrimSuffix(fmt.Sprintf(", exit code %d (%s)", r.ExitCode, r.Signal), " ()")
	}
	if r.Waiting != "" {
		text += ", waits for " + r.Waiting
	}
	return strings.TrimSuffix(fmt.Sprintf("%s, %v: %s", text, r.Duration.Round(time.Millisecond), r.Exceeded), ": ")
}

// section shows the path of the log, the output below it, and the notable lines below that.
func (o Output) section(name string) string {
	if o.TotalBytes == 0 && o.Content == "" && o.Path == "" && o.PathError == "" {
		return ""
	}
	if o.Truncated {
		name += fmt.Sprintf(", %d of %d lines", o.OutputLines, o.TotalLines)
		o.Content = strings.TrimPrefix(strings.TrimSuffix(o.Head, "\n")+"\n…\n"+o.Content, "\n")
	}
	if o.Path != "" {
		name += ", " + o.Path
	}
	if o.PathError != "" {
		name += ", " + o.PathError
	}
	text := "\n" + name + ":\n" + strings.TrimSuffix(o.Content, "\n")
	if len(o.Notable) > 0 {
		text += "\nleft out, like errors:"
	}
	for _, line := range o.Notable {
		text += fmt.Sprintf("\n%d: %s", line.Number, line.Text)
	}
	return text
}

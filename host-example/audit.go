package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/policy"
)

// audit appends what was decided and what came of it to a file, as lines of JSON.
type audit struct {
	session string
	mu      sync.Mutex
	file    *os.File
}

// openAudit opens a file that only its owner may read.
func openAudit(name string) (*audit, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = file.Chmod(0o600)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &audit{session: rand.Text(), file: file}, nil
}

func (a *audit) close() { _ = a.file.Close() }

// auditLine is a decision, or with an Outcome or an Error what came of it.
type auditLine struct {
	Time     time.Time       `json:"time"`
	Session  string          `json:"session"`
	Command  string          `json:"command"`
	Dir      string          `json:"dir,omitempty"`
	Parts    []auditPart     `json:"parts,omitempty"`
	Decision policy.Decision `json:"decision"`
	By       string          `json:"by"`

	Outcome    shared.Status   `json:"outcome,omitempty"`
	PID        int             `json:"pid,omitempty"`
	Confined   string          `json:"confined,omitempty"` // what it could touch
	ExitCode   *int            `json:"exit_code,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Error      string          `json:"error,omitempty"`
}

type auditPart struct {
	Part     string          `json:"part"`
	Decision policy.Decision `json:"decision"`
	Rule     string          `json:"rule,omitempty"`
}

// write is a policy's Log. The time of a line about an outcome is that of the outcome.
func (a *audit) write(r policy.Record) {
	line := auditLine{
		Time:     r.Time,
		Session:  a.session,
		Command:  r.Request.Command,
		Dir:      r.Request.Dir,
		Decision: r.Decision,
		By:       r.By,
	}
	for _, met := range r.Parts {
		part := auditPart{Part: met.String(), Decision: met.Decision}
		if met.Rule != nil {
			part.Rule = met.Rule.Command
		}
		line.Parts = append(line.Parts, part)
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	if r.Result != nil {
		line.Time = time.Now()
		line.outcome(r.Result)
	}
	text, err := json.Marshal(line)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		_, err = a.file.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "[cannot write the audit: %v]\n", err)
	}
}

func (l *auditLine) outcome(r *shared.Result) {
	l.Outcome = r.Status
	l.PID = r.PID
	l.Confined = r.Confined
	l.DurationMS = r.Duration.Milliseconds()
	if r.Status != shared.StatusRunning {
		l.ExitCode = &r.ExitCode
	}
	if r.Usage == (shared.Usage{}) {
		return
	}
	var fields struct {
		Usage json.RawMessage `json:"usage"`
	}
	text, _ := json.Marshal(r) // cannot fail, and neither can the next
	_ = json.Unmarshal(text, &fields)
	l.Usage = fields.Usage
}

// logged is a Bash without a policy whose commands are logged.
type logged struct {
	shared.Bash
	log func(policy.Record)
}

func (b logged) Execute(ctx context.Context, req shared.ExecuteRequest) (*shared.Result, error) {
	_, parts := policy.Policy{Default: policy.Allow}.Decide(req.Command)
	record := policy.Record{Time: time.Now(), Request: req, Decision: policy.Allow, By: "default"}
	for _, part := range parts {
		part.Decision = policy.Allow
		record.Parts = append(record.Parts, part)
	}
	b.log(record)
	record.Result, record.Err = b.Bash.Execute(ctx, req)
	b.log(record)
	return record.Result, record.Err
}

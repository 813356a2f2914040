package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"bashplugin/shared"
)

// Dialect names a set of tools.
type Dialect string

// The dialects.
const (
	Native   Dialect = "native"
	Claude   Dialect = "claude"
	Codex    Dialect = "codex"
	CheckPID Dialect = "check-pid"
	Mode     Dialect = "mode"
	TaskID   Dialect = "task-id"
	BashID   Dialect = "bash-id"
)

// Default is the dialect for a host whose model is tuned to none of the others.
const Default = Native

// Dialects returns every dialect.
func Dialects() []Dialect { return []Dialect{Native, Claude, Codex, CheckPID, Mode, TaskID, BashID} }

// Definition describes a tool to a model. Its JSON has the keys name,
// description and input_schema.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"` // a JSON Schema of an object without other properties

	Hints Hints `json:"-"`
}

// Hints say what a tool may do, for hosts that ask their user first and for
// protocols that carry such annotations.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may change or remove existing files, data or processes
	Idempotent  bool // calling again with the same arguments changes nothing more
	OpenWorld   bool // may reach beyond this machine
}

// Call is a tool call by a model.
type Call struct {
	Name      string
	Arguments json.RawMessage // as the model gave them

	// Live, if not nil, receives the raw output of a command as it comes,
	// both streams together, one Write at a time. The Toolset does not use it
	// after Call has returned; Call waits for a Write that is under way. An error
	// ends the copy.
	Live io.Writer
}

// Answer is the result of a call, for the model and for the host.
type Answer struct {
	Text    string // never empty
	IsError bool   // the call failed, in the terms of the dialect

	// For the host: the Result that Text was made from, or the reason why there is
	// none. A malformed call has an Err with shared.CodeInvalid.
	Result *shared.Result
	Err    error
	ID     string // task_id or bash_id of the job, if there is one and the dialect has them
}

// Toolset is a dialect over a Bash. It is safe for concurrent use.
type Toolset struct {
	tools []tool
	opts  Options
	terse bool   // answers have the dialect's own facts only
	close func() // nil: the dialect does nothing in the background
}

// tool is a definition and a function that executes its calls.
type tool struct {
	Definition
	schema *jsonschema.Schema
	call   func(context.Context, Call) (Answer, error) // the error is about the arguments
}

// define returns a tool whose arguments are the fields of A. The json tag of a
// field gives the argument's name; an argument with omitempty may be left out or
// null. The jsonschema tag is its description, and an enum tag lists the values
// of a string, as in "default|slow". If A is checked, a call runs only after that check.
// The live writer may be nil. The descriptions go through Options.fill.
func define[A any](opts Options, name, description string, hints Hints, call func(ctx context.Context, args A, live io.Writer) Answer) tool {
	schema, text := schemaFor[A](opts)
	return tool{
		Definition: Definition{Name: name, Description: opts.fill(description), InputSchema: text, Hints: hints},
		schema:     schema,
		call: func(ctx context.Context, c Call) (Answer, error) {
			var args A
			if err := decode(c.Arguments, schema, opts, &args); err != nil {
				return Answer{}, err
			}
			return call(ctx, args, c.Live), nil
		},
	}
}

// New returns the tools of a dialect over bash. bash may be nil if only Definitions
// or Render is called; the caller closes it after the Toolset. New fails if there is
// no such dialect, or if it cannot use the options.
func New(dialect Dialect, bash shared.Bash, opts Options) (*Toolset, error) {
	opts, err := opts.withDefaults(dialect)
	if err != nil {
		return nil, err
	}
	t := map[Dialect]func(shared.Bash, Options) *Toolset{
		Native: newNative, Claude: newClaude, Codex: newCodex, CheckPID: newCheckPID, Mode: newMode, TaskID: newTaskID, BashID: newBashID,
	}[dialect](bash, opts)
	t.opts = opts
	own := t.names()
	for _, given := range []map[string]string{opts.Names, opts.Descriptions} {
		for name := range given {
			if !slices.Contains(own, name) {
				return nil, fmt.Errorf("the dialect has no tool %q: it has %q", name, own)
			}
		}
	}
	for i, name := range own {
		tool := &t.tools[i]
		tool.Name, tool.Description = cmp.Or(opts.Names[name], name), cmp.Or(opts.Descriptions[name], tool.Description)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(tool.Name) || slices.Index(t.names(), tool.Name) < i {
			return nil, fmt.Errorf("cannot name a tool %q: give each its own name of 1 to 64 letters, digits, _ and -", tool.Name)
		}
	}
	return t, nil
}

func (t *Toolset) names() []string {
	names := make([]string, len(t.tools))
	for i, tool := range t.tools {
		names[i] = tool.Name
	}
	return names
}

// Definitions returns the definitions of the tools.
func (t *Toolset) Definitions() []Definition {
	definitions := make([]Definition, len(t.tools))
	for i, tool := range t.tools {
		definitions[i] = tool.Definition
	}
	return definitions
}

// Call executes a call. When ctx ends, so does the command that the call runs,
// and the Answer has its output so far; if the cause is ErrLetRun the command goes on
// as a job. A malformed call runs nothing.
func (t *Toolset) Call(ctx context.Context, c Call) Answer {
	i := slices.IndexFunc(t.tools, func(tool tool) bool { return tool.Name == c.Name })
	if i < 0 {
		return malformed("unknown tool %s: the tools are %s", quote(c.Name), strings.Join(t.names(), ", "))
	}
	if c.Live != nil {
		live := &gate{to: c.Live}
		defer live.close()
		c.Live = live
	}
	if t.opts.MaxWait > 0 {
		var stop func()
		ctx, stop = context.WithTimeoutCause(ctx, t.opts.MaxWait, errMaxWait)
		defer stop()
	}
	answer, err := t.tools[i].call(ctx, c)
	if err != nil {
		return malformed("invalid arguments: %v\nUsage: %s %s", err, c.Name, usage(t.tools[i].schema))
	}
	if answer = confined(answer); answer.Result != nil && !t.terse {
		answer.Text += notable("", answer.Result.Stdout) + notable("stderr: ", answer.Result.Stderr) + waiting(t.opts, answer.Result)
	}
	return answer
}

// Close ends the Toolset's own goroutines. It does not end jobs: these end with
// the Bash.
func (t *Toolset) Close() error {
	if t.close != nil {
		t.close()
	}
	return nil
}

// malformed is the answer to a call that cannot be executed.
func malformed(format string, args ...any) Answer {
	text := fmt.Sprintf(format, args...)
	return Answer{Text: text, IsError: true, Err: &shared.Error{Code: shared.CodeInvalid, Message: text}}
}

// failed says why there is no Result.
func failed(what string, err error) Answer {
	text := err.Error()
	if e, ok := errors.AsType[*shared.Error](err); ok { // the message begins with the Go name of a field, which is not for models
		text = strings.TrimPrefix(text, e.Field+" ")
	}
	return Answer{Text: what + ": " + text, IsError: true, Err: err}
}

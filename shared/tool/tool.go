package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"bashplugin/shared"
)

// Dialect names a set of tools.
type Dialect string

// The dialects.
const (
	CheckPID Dialect = "check-pid"
	Mode     Dialect = "mode"
	TaskID   Dialect = "task-id"
	BashID   Dialect = "bash-id"
)

// Dialects returns every dialect.
func Dialects() []Dialect { return []Dialect{CheckPID, Mode, TaskID, BashID} }

// Options are what a Toolset may be told. The zero value works.
type Options struct {
	// Dir is where commands run, an absolute path; "": the session's directory.
	// The description of the mode dialect names it to the model.
	Dir string
}

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
	Destructive bool // may change or remove what was there
	Idempotent  bool // calling again with the same arguments changes nothing more
	OpenWorld   bool // may reach beyond this machine
}

// Call is a model's call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // as the model gave them

	// Live, where not nil, receives the raw output of a command as it comes,
	// both streams together, one Write at a time. It is not used after Call has
	// returned, which waits for a Write under way; an error ends the copy.
	Live io.Writer
}

// Answer is what goes back to the model.
type Answer struct {
	Text    string // never empty
	IsError bool   // the call failed, in the terms of the dialect

	// For the host: the account that Text was made from, or why there is none.
	// A call that is not well formed has an Err with shared.CodeInvalid.
	Result *shared.Result
	Err    error
	ID     string // task_id or bash_id of the job, where there is one and the dialect has them
}

// Toolset is a dialect over a Bash. It is safe for concurrent use.
type Toolset struct {
	tools   []tool
	closers []func()
}

// tool is a definition and what executes its calls.
type tool struct {
	Definition
	parameters parameters
	check      func(arguments) error // reports arguments that do not go together; nil: all do
	call       func(context.Context, arguments, io.Writer) Answer
}

// New returns the tools of a dialect over bash, which stays the caller's to
// close, after the Toolset; it may be nil where only Definitions is called. An
// error says that there is no such dialect, or that Options.Dir is relative.
func New(dialect Dialect, bash shared.Bash, opts Options) (*Toolset, error) {
	if opts.Dir != "" && !filepath.IsAbs(opts.Dir) {
		return nil, fmt.Errorf("cannot use the directory %q: give an absolute path", opts.Dir)
	}
	t := new(Toolset)
	switch dialect {
	case CheckPID:
		t.tools = newCheckPID(bash, opts)
	case Mode:
		endings := newEndings(bash)
		t.tools, t.closers = newMode(bash, opts, endings), []func(){endings.close}
	case TaskID:
		t.tools = newTaskID(bash, opts)
	case BashID:
		t.tools = newBashID(bash, opts)
	default:
		return nil, fmt.Errorf("unknown dialect %q: use one of %q", dialect, Dialects())
	}
	for i := range t.tools {
		t.tools[i].InputSchema = t.tools[i].parameters.schema()
	}
	return t, nil
}

// Definitions returns the definitions of the tools.
func (t *Toolset) Definitions() []Definition {
	definitions := make([]Definition, len(t.tools))
	for i, tool := range t.tools {
		definitions[i] = tool.Definition
		definitions[i].InputSchema = slices.Clone(tool.InputSchema)
	}
	return definitions
}

// Call executes a call. When ctx ends, so does the command that the call runs,
// and the Answer has its output so far. A call that is not well formed runs
// nothing.
func (t *Toolset) Call(ctx context.Context, c Call) Answer {
	i := slices.IndexFunc(t.tools, func(tool tool) bool { return tool.Name == c.Name })
	if i < 0 {
		return malformed(fmt.Sprintf("unknown tool %s: the tools are %s", quote(c.Name), strings.Join(t.names(), ", ")))
	}
	tool := &t.tools[i]
	args, err := tool.parameters.decode(c.Arguments)
	if err == nil && tool.check != nil {
		err = tool.check(args)
	}
	if err != nil {
		return tool.malformed(err)
	}
	if c.Live == nil {
		return tool.call(ctx, args, nil)
	}
	live := &gate{to: c.Live}
	defer live.close()
	return tool.call(ctx, args, live)
}

// Close ends what the Toolset itself does in the background. It touches no
// job: those end with the Bash.
func (t *Toolset) Close() error {
	for _, closer := range t.closers {
		closer()
	}
	return nil
}

func (t *Toolset) names() []string {
	names := make([]string, len(t.tools))
	for i, tool := range t.tools {
		names[i] = tool.Name
	}
	return names
}

// malformed tells what is wrong with a call of the tool, and how it is called.
func (t *tool) malformed(problem error) Answer {
	return malformed(fmt.Sprintf("invalid arguments: %v\nUsage: %s %s", problem, t.Name, t.parameters.usage()))
}

func malformed(text string) Answer {
	return Answer{Text: text, IsError: true, Err: &shared.Error{Code: shared.CodeInvalid, Message: text}}
}

// failed tells why there is no Result.
func failed(what string, err error) Answer {
	return Answer{Text: what + ": " + err.Error(), IsError: true, Err: err}
}

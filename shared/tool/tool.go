package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"bashplugin/shared"
)

// Definition describes a tool to a model. Its JSON has the keys name,
// description and input_schema.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description"`

	// InputSchema is a JSON Schema of an object.
	InputSchema json.RawMessage `json:"input_schema"`

	Hints Hints `json:"-"`
}

// Hints say what a tool may do, for hosts that ask their user first and for
// protocols that carry such annotations.
type Hints struct {
	// ReadOnly tools change nothing.
	ReadOnly bool

	// Destructive tools may change or remove existing files, data or processes.
	Destructive bool

	// Idempotent tools change nothing more if they are called again with the same arguments.
	Idempotent bool

	// OpenWorld tools may reach beyond this machine.
	OpenWorld bool
}

// The hints of tools that run a command or write to it, that show a job, and that end one.
var (
	runHints  = Hints{Destructive: true, OpenWorld: true}
	showHints = Hints{ReadOnly: true}
	endHints  = Hints{Destructive: true, Idempotent: true}
)

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
	// Text is the answer for the model. It is never empty.
	Text string

	// IsError says that the call has failed, in the terms of the dialect.
	IsError bool

	// Result is what Text was made from, for the host. If there is none, Err says why. A
	// malformed call has an Err with shared.CodeInvalid.
	Result *shared.Result
	Err    error

	// ID is the dialect's id of the job, if there is a job and the dialect has ids.
	ID string
}

// Toolset is a dialect over a Bash. It is safe for concurrent use.
type Toolset struct {
	tools []tool

	// aliases are tools that are not listed: a model may know them from elsewhere.
	aliases []tool

	opts Options

	// instructions are those of Instructions.
	instructions string

	// close ends the dialect's goroutines. It is nil if the dialect has none.
	close func()
}

// tool is a definition and a function that executes its calls.
type tool struct {
	Definition
	schema *jsonschema.Schema

	// arguments maps fields of the contract's requests to the arguments that set them.
	arguments map[string]string

	// call executes a call. Its error is about the arguments.
	call func(context.Context, Call) (Answer, error)
}

// handler executes a call whose arguments were decoded and checked. live may be nil.
type handler[A any] func(ctx context.Context, args A, live io.Writer) Answer

// define returns a tool whose arguments are the fields of A. The json tag of a
// field gives the argument's name; an argument with omitempty may be left out or
// null. The jsonschema tag is its description, and an enum tag lists the values
// of a string, as in "default|slow". Arguments are checked if their types are kinds, or if A
// is checked. The descriptions go through Options.fill.
func define[A any](opts Options, name, description string, hints Hints, call handler[A]) tool {
	schema, text := schemaFor[A](opts)
	decodeAndCall := func(ctx context.Context, c Call) (Answer, error) {
		var args A
		err := decode(c.Arguments, schema, opts, &args)
		if err != nil {
			return Answer{}, err
		}
		return call(ctx, args, c.Live), nil
	}
	return tool{
		Definition: Definition{
			Name:        name,
			Description: opts.fill(description),
			InputSchema: text,
			Hints:       hints,
		},
		schema:    schema,
		arguments: argumentNames[A](),
		call:      decodeAndCall,
	}
}

// New returns the tools of a dialect over bash. bash may be nil if only Definitions
// or Render is called; the caller closes it after the Toolset. New fails if there is
// no such dialect, or if it cannot use the options.
func New(name Dialect, bash shared.Bash, opts Options) (*Toolset, error) {
	found, err := findDialect(name)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults(found.defaults)
	err = opts.validate()
	if err != nil {
		return nil, err
	}
	t := found.tools(bash, opts)
	t.opts = opts
	t.instructions = opts.fill(found.instructions)
	err = t.rename()
	if err != nil {
		return nil, err
	}
	return t, nil
}

// toolName matches the names that model APIs take.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// rename gives the tools the names and descriptions of the options.
func (t *Toolset) rename() error {
	own := t.names()
	for _, given := range []map[string]string{t.opts.Names, t.opts.Descriptions} {
		for name := range given {
			if !slices.Contains(own, name) {
				return fmt.Errorf("the dialect has no tool %q: it has %q", name, own)
			}
		}
	}
	for i, name := range own {
		tool := &t.tools[i]
		tool.Name = cmp.Or(t.opts.Names[name], name)
		tool.Description = cmp.Or(t.opts.Descriptions[name], tool.Description)
		if i == 0 { // the tool that runs commands
			tool.Description += t.confinement()
		}
		isTaken := slices.Index(t.names(), tool.Name) < i
		if isTaken || !toolName.MatchString(tool.Name) {
			return fmt.Errorf("cannot name a tool %q: give each its own name of 1 to 64 letters, digits, _ and -",
				tool.Name)
		}
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

// Definitions returns the definitions of the tools.
func (t *Toolset) Definitions() []Definition {
	definitions := make([]Definition, len(t.tools))
	for i, tool := range t.tools {
		definitions[i] = tool.Definition
	}
	return definitions
}

// Instructions tell a model how the tools work together, for protocols that have a place for
// that beside the definitions.
func (t *Toolset) Instructions() string {
	return "Each command runs in a fresh bash: a cd or a variable lasts for that command only. " +
		t.instructions + t.confinement()
}

// Call executes a call. When ctx ends, so does the command that the call runs,
// and the Answer has its output so far; if the cause is ErrLetRun the command goes on
// as a job. A malformed call runs nothing.
func (t *Toolset) Call(ctx context.Context, c Call) Answer {
	known := slices.Concat(t.tools, t.aliases)
	i := slices.IndexFunc(known, func(tool tool) bool { return tool.Name == c.Name })
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
	answer, err := known[i].call(ctx, c)
	if err != nil {
		return malformed("invalid arguments: %v\nUsage: %s %s", err, c.Name, usage(known[i].schema))
	}
	if answer.Err != nil {
		answer.Text = known[i].ownWords(answer.Text, answer.Err, t.tools)
	}
	answer = t.confined(answer)
	if r := answer.Result; r != nil {
		notes := notable("", r.Stdout) + notable("stderr: ", r.Stderr) + t.waiting(r)
		if notes != "" {
			answer.Text = withoutNewline(answer.Text) + notes
		}
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
	return Answer{Text: what + ": " + err.Error(), IsError: true, Err: err}
}

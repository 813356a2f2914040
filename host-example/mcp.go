package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/tool"
)

// How much output an answer shows. Clients cut longer answers, Codex those of more than 12,000
// characters and Qwen Code those of more than 1,000 lines. CLIENTS.md has the others. The tool's
// own lines, and those that look like errors, come on top.
const (
	maxAnswer      = 9000
	maxAnswerLines = 900
)

// serveMCP is a Model Context Protocol server on stdin and stdout: a dialect's
// tools for every client of that protocol. It ends with stdin.
func serveMCP(args []string) (int, error) {
	set, launch := newFlagSet("mcp")
	s := &mcpServer{stdio: stdio{ended: make(chan struct{})}}
	dialect := set.String("dialect", string(tool.Default), "set of tools: "+list(tool.Dialects()))
	maxWait := set.Duration("max-wait", 50*time.Second, "how long a call may take before its command "+
		"goes on as a job; many clients give up after a minute (0: no limit)")
	set.BoolVar(&s.structured, "structured", false,
		"send Results as structured content too; some clients show their models nothing else then")
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	if *maxWait < 0 {
		return usageError, fmt.Errorf("-max-wait is %v: use 0 for no limit, or a positive duration", *maxWait)
	}
	signal.Ignore(syscall.SIGPIPE) // if the client is gone, writing fails and the connection ends
	return launch.with(func(ctx context.Context, client *host.Client) (int, error) {
		bash, finish, err := launch.guard(client, elicit)
		if err != nil {
			return 1, err
		}
		defer finish()
		opts := tool.Options{
			Dir:      launch.Dir,
			Env:      launch.env,
			MaxWait:  *maxWait,
			Most:     shared.Limits{MaxBytes: maxAnswer, MaxLines: maxAnswerLines},
			Confined: confinement(ctx, client),
		}
		s.tools, err = tool.New(tool.Dialect(*dialect), bash, opts)
		if err != nil {
			return 1, err
		}
		defer func() { _ = s.tools.Close() }()
		err = s.serve(ctx, s.server())
		if err != nil {
			return 1, fmt.Errorf("the connection to the client broke: %w", err)
		}
		return 0, nil
	})
}

// confinement returns what a command of the session may touch, as the plugin says: it may be more
// than the flags ask for, with -best-effort, and less, with -connect. It returns "" if commands are
// not confined, and if none can be started: then each call says why.
func confinement(ctx context.Context, bash shared.Bash) string {
	r, err := bash.Execute(ctx, shared.ExecuteRequest{Command: ":"})
	if err != nil {
		return ""
	}
	return r.Confined
}

// mcpServer serves one client.
type mcpServer struct {
	stdio
	tools      *tool.Toolset
	structured bool
}

func (s *mcpServer) server() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "bash-plugin", Title: "Bash", Version: version()},
		&mcp.ServerOptions{
			Instructions: s.tools.Instructions(),
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		},
	)
	var schema any // of no structured content
	if s.structured {
		schema = outputSchema()
	}
	for i, d := range s.tools.Definitions() {
		var meta mcp.Meta
		if i == 0 { // the tool that runs commands
			meta = notHidden()
		}
		server.AddTool(&mcp.Tool{
			Meta:         meta,
			Name:         d.Name,
			Description:  d.Description,
			InputSchema:  d.InputSchema,
			OutputSchema: schema,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint:    d.Hints.ReadOnly,
				DestructiveHint: &d.Hints.Destructive,
				IdempotentHint:  d.Hints.Idempotent,
				OpenWorldHint:   &d.Hints.OpenWorld,
			},
		}, s.call)
	}
	return server
}

// notHidden keeps Claude Code from hiding a tool behind its search of tools, and helps the search
// where it does.
func notHidden() mcp.Meta {
	return mcp.Meta{
		"anthropic/alwaysLoad": true,
		"anthropic/searchHint": "run shell commands with bash",
	}
}

// call executes a call. When the client cancels it, ctx ends.
func (s *mcpServer) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call := tool.Call{Name: req.Params.Name, Arguments: req.Params.Arguments}
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}") // a client may leave them out
	}
	var sending sync.WaitGroup
	done := make(chan struct{})
	if token := req.Params.GetProgressToken(); token != nil {
		live := new(progress)
		call.Live = live
		sending.Go(func() {
			live.run(done, func(text string, value int) {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token,
					Message:       text,
					Progress:      float64(value),
				})
			})
		})
	}
	person := &asking{client: req.Session, given: req.Params.InputResponses}
	patient, end := s.patient(context.WithValue(ctx, askingKey{}, person), req)
	answer := s.tools.Call(patient, call)
	end()
	close(done)
	sending.Wait()
	questions := person.questions()
	if questions != nil {
		return &mcp.CallToolResult{InputRequests: questions}, nil
	}
	result := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: answer.Text}},
		IsError: answer.IsError,
	}
	if s.structured {
		result.StructuredContent = structured(answer)
	}
	return result, nil
}

// structured is an answer for programs: the Result, with the text in it for clients
// that show their models nothing else.
func structured(a tool.Answer) map[string]any {
	content := make(map[string]any)
	if a.Result != nil {
		text, _ := json.Marshal(a.Result) // cannot fail
		_ = json.Unmarshal(text, &content)
	}
	content["text"] = a.Text
	if a.ID != "" {
		content["id"] = a.ID
	}
	if a.Err != nil {
		e := &shared.Error{Code: shared.CodeInternal, Message: a.Err.Error()}
		_ = errors.As(a.Err, &e)
		content["error"] = map[string]any{"code": e.Code, "message": e.Message}
	}
	return content
}

// outputSchema is the JSON Schema of structured content.
func outputSchema() *jsonschema.Schema {
	object := &jsonschema.Schema{Type: "object"}
	jobs := &jsonschema.Schema{Type: "array", Items: object} // For would follow them without an end
	given := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[shared.JobList](): jobs}
	schema, err := jsonschema.For[shared.Result](&jsonschema.ForOptions{TypeSchemas: given})
	if err != nil {
		panic(err) // a Result has a field that JSON cannot have
	}
	schema.AdditionalProperties = nil
	schema.Required = []string{"text"}
	schema.Properties["duration_ms"] = &jsonschema.Schema{Type: "integer"}
	schema.Properties["usage"].Properties["cpu_ms"] = &jsonschema.Schema{Type: "integer", Description: "processor time"}
	schema.Properties["text"] = &jsonschema.Schema{Type: "string", Description: "the answer for the model"}
	schema.Properties["id"] = &jsonschema.Schema{Type: "string", Description: "of the job, as the tools name it"}
	schema.Properties["error"] = &jsonschema.Schema{Type: "object", Description: "why there is no outcome"}
	return schema
}

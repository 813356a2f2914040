package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bashplugin/shared/tool"
)

// serveMCP is a Model Context Protocol server on stdin and stdout: a dialect's
// tools for every client of that protocol. It ends with stdin.
func serveMCP(args []string) (int, error) {
	set := newFlagSet("mcp", "[flags]", "A Model Context Protocol server on stdin and stdout, until stdin ends.")
	var launch launchFlags
	launch.register(set)
	dialect := dialectFlag(set)
	if err := parseFlags(set, args); err != nil {
		return usageError, err
	}
	ctx, stop := interruptible()
	defer stop(nil)
	client, err := launch.launch(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer client.Close()
	dir, err := filepath.Abs(launch.dir)
	if err != nil {
		return 1, err
	}
	tools, err := tool.New(tool.Dialect(*dialect), client, tool.Options{Dir: dir})
	if err != nil {
		return usageError, err
	}
	defer func() { _ = tools.Close() }()
	err = newMCPServer(tools).Run(ctx, newLineTransport(ctx, os.Stdin, os.Stdout))
	if code, ok := stopCode(ctx); ok {
		return code, nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return 1, fmt.Errorf("the connection to the client broke: %w", err)
	}
	if err := client.Close(); err != nil {
		return 1, err
	}
	return 0, nil
}

// newMCPServer serves the tools.
func newMCPServer(tools *tool.Toolset) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "bash-plugin", Title: "Bash", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
	)
	for _, d := range tools.Definitions() {
		server.AddTool(&mcp.Tool{
			Name:        d.Name,
			Description: d.Description,
			InputSchema: d.InputSchema,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint:    d.Hints.ReadOnly,
				DestructiveHint: &d.Hints.Destructive,
				IdempotentHint:  d.Hints.Idempotent,
				OpenWorldHint:   &d.Hints.OpenWorld,
			},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return callTool(ctx, tools, req), nil
		})
	}
	server.AddReceivingMiddleware(explainUnknownTool(tools))
	return server
}

// explainUnknownTool tells a model that calls a tool there is none of which
// there are. The error stays the protocol's own.
func explainUnknownTool(tools *tool.Toolset) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil || isDefined(tools, call.Params.Name) {
				return next(ctx, method, req)
			}
			answer := tools.Call(ctx, tool.Call{Name: call.Params.Name}) // runs nothing
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: answer.Text}
		}
	}
}

func isDefined(tools *tool.Toolset, name string) bool {
	return slices.ContainsFunc(tools.Definitions(), func(d tool.Definition) bool { return d.Name == name })
}

// callTool executes a call. When the client cancels it, ctx ends.
func callTool(ctx context.Context, tools *tool.Toolset, req *mcp.CallToolRequest) *mcp.CallToolResult {
	call := tool.Call{Name: req.Params.Name, Arguments: req.Params.Arguments}
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}") // the protocol lets a client leave them out
	}
	if token := req.Params.GetProgressToken(); token != nil {
		progress := newProgress(func(message string, value int64) error {
			return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Message: message, Progress: float64(value),
			})
		})
		defer progress.stop()
		call.Live = progress
	}
	answer := tools.Call(ctx, call)
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: answer.Text}},
		StructuredContent: newReport(answer),
		IsError:           answer.IsError,
	}
}

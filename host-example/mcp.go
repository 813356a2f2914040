package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

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
	if err := set.Parse(args); err != nil {
		return usageError, quietly(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := stopSignals(os.Interrupt)
	go func() { stop(stopped((<-signals).(syscall.Signal))) }()
	client, err := launch.launch(ctx)
	if err != nil {
		return 1, err
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
	err = newMCPServer(tools).Run(ctx, newLineTransport(os.Stdin, os.Stdout))
	if code, ok := stopCode(ctx); ok {
		return code, nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return 1, fmt.Errorf("the connection to the client broke: %w", err)
	}
	return 0, client.Close()
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
	return server
}

// callTool executes a call. When the client cancels it, ctx ends.
func callTool(ctx context.Context, tools *tool.Toolset, req *mcp.CallToolRequest) *mcp.CallToolResult {
	call := tool.Call{Name: req.Params.Name, Arguments: req.Params.Arguments}
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}") // the protocol lets a client leave them out
	}
	if token := req.Params.GetProgressToken(); token != nil {
		progress := newProgress(func(message string, bytes int64) error {
			return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Message: message, Progress: float64(bytes),
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

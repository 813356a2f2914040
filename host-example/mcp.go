package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

// serveMCP is a Model Context Protocol server on stdin and stdout: a dialect's
// tools for every client of that protocol. It ends with stdin.
func serveMCP(args []string) (int, error) {
	set, launch := newFlagSet("mcp")
	dialect := set.String("dialect", string(tool.BashID), "set of tools: "+list(tool.Dialects()))
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	signal.Ignore(syscall.SIGPIPE) // if the client is gone, writing fails and the connection ends
	return launch.with(func(ctx context.Context, client *shared.Client) (int, error) {
		tools, err := tool.New(tool.Dialect(*dialect), client, tool.Options{Dir: launch.dir})
		if err != nil {
			return 1, err
		}
		defer func() { _ = tools.Close() }()
		if err := serve(ctx, newMCPServer(tools)); err != nil {
			return 1, fmt.Errorf("the connection to the client broke: %w", err)
		}
		return 0, nil
	})
}

func newMCPServer(tools *tool.Toolset) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "bash-plugin", Title: "Bash", Version: version()},
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
		call.Arguments = json.RawMessage("{}") // a client may leave them out
	}
	var sending sync.WaitGroup
	done := make(chan struct{})
	if token := req.Params.GetProgressToken(); token != nil {
		live := new(progress)
		call.Live = live
		sending.Go(func() {
			live.run(done, func(text string, value int) {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: text, Progress: float64(value)})
			})
		})
	}
	answer := tools.Call(ctx, call)
	close(done)
	sending.Wait()
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: answer.Text}},
		StructuredContent: newReport(answer),
		IsError:           answer.IsError,
	}
}

// serve serves stdin and stdout until stdin or ctx ends. Calls may still be
// under way when it returns: their commands end with the plugin.
func serve(ctx context.Context, server *mcp.Server) error {
	in := lateEnd{os.Stdin, make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- server.Run(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: in, Writer: os.Stdout})
	}()
	select {
	case err := <-served:
		return err
	case <-in.ended: // the SDK would wait for a client that does not read
	case <-ctx.Done():
	}
	return nil
}

// lateEnd reports the end of stdin half a second late. At the end the SDK drops the
// calls under way, so that "printf '…' | host-example mcp" would print nothing.
type lateEnd struct {
	*os.File
	ended chan struct{} // closed when Read reports the end
}

// Read implements io.Reader.
func (l lateEnd) Read(p []byte) (int, error) {
	n, err := l.File.Read(p)
	if err != nil {
		time.Sleep(time.Second / 2)
		close(l.ended)
	}
	return n, err
}

const (
	progressInterval = 100 * time.Millisecond // between two notifications
	maxProgress      = 8 << 10                // bytes of output in one; if there are more, the last ones

	// heartbeat is the time between notifications while there is no output. Many
	// clients give a call up after a minute of silence.
	heartbeat = 5 * time.Second
)

// progress is a live writer that sends the output as notifications.
type progress struct {
	mu      sync.Mutex // guards pending
	pending []byte     // output that is not sent yet, at most the last maxProgress bytes
}

// Write implements io.Writer.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, text...)
	p.pending = p.pending[max(0, len(p.pending)-maxProgress):]
	return len(text), nil
}

// run sends until done is closed. value grows with each notification.
func (p *progress) run(done <-chan struct{}, send func(text string, value int)) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	value, last := 0, time.Now()
	for over := false; !over; {
		select {
		case <-ticker.C:
		case <-done:
			over = true
		}
		text := p.take()
		if text != "" || !over && time.Since(last) >= heartbeat {
			value += len(text) + 1
			last = time.Now()
			send(text, value)
		}
	}
}

// take returns the pending output as text, except an incomplete rune at its end.
func (p *progress) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := len(p.pending)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(p.pending[i]) && !utf8.FullRune(p.pending[i:]) {
			end = i
		}
	}
	text := strings.ToValidUTF8(ansi.Strip(string(p.pending[:end])), string(utf8.RuneError))
	p.pending = append([]byte(nil), p.pending[end:]...)
	return text
}

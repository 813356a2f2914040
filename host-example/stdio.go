package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bashplugin/shared"
)

// stdio is the transport on stdin and stdout. It reads why a client cancels a call: the
// SDK ends the call's context without a reason.
type stdio struct {
	ended chan struct{} // closed at the end of stdin

	// calls are the calls under way. The key is the id, the value a func() that makes the
	// call return and its command go on.
	calls sync.Map
}

// serve serves stdin and stdout until stdin or ctx ends. Calls may still be
// under way when it returns: their commands end with the plugin.
func (s *stdio) serve(ctx context.Context, server *mcp.Server) error {
	served := make(chan error, 1)
	go func() { served <- server.Run(context.WithoutCancel(ctx), s) }()
	select {
	case err := <-served:
		return err
	case <-s.ended: // the SDK would wait for a client that does not read
	case <-ctx.Done():
	}
	return nil
}

// Connect implements mcp.Transport.
func (s *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	in := &messages{Closer: os.Stdin, from: bufio.NewReader(os.Stdin), ended: s.ended}
	transport := &mcp.IOTransport{
		Reader:        in,
		Writer:        os.Stdout,
		MaxLineLength: -1, // messages has a limit
	}
	conn, err := transport.Connect(ctx)
	return connection{conn, s}, err
}

type connection struct {
	mcp.Connection
	stdio *stdio
}

// idHeader is the header in which a call's handler finds the call's id. The SDK keeps the id
// to itself, but hands on the headers that a transport adds.
const idHeader = "Id"

// Read implements mcp.Connection. It comes before the SDK's own handling of what was
// read.
func (c connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	request, ok := message.(*jsonrpc.Request)
	if !ok {
		return message, err
	}
	request.Extra = &mcp.RequestExtra{Header: http.Header{idHeader: {name(request.ID.Raw())}}}
	letRun, ok := c.stdio.calls.Load(givenUp(request))
	if ok {
		letRun.(func())()
	}
	return message, err
}

// givenUp returns the id of the call that a client cancels because it has waited long
// enough, "" if the request does not say so.
func givenUp(request *jsonrpc.Request) string {
	if request.Method != "notifications/cancelled" {
		return ""
	}
	var cancelled mcp.CancelledParams
	err := json.Unmarshal(request.Params, &cancelled)
	if err != nil || !tookTooLong.MatchString(cancelled.Reason) {
		return ""
	}
	id, _ := jsonrpc.MakeID(cancelled.RequestID)
	return name(id.Raw())
}

// tookTooLong matches the reasons that client libraries give when they have waited long
// enough, such as "McpError: MCP error -32001: Request timed out". A person's reason may
// have such words, too, but does not consist of them.
var tookTooLong = regexp.MustCompile(`(?i)^(\w*error: )?(mcp error -32001: )?(` +
	`request timed out|request timeout|timed out|timeout|maximum total timeout exceeded|` +
	`context deadline exceeded|the operation was aborted due to timeout|the operation timed out` +
	`)\.?$`)

// name tells the id 1 from the id "1".
func name(id any) string { return fmt.Sprintf("%#v", id) }

// patient returns a call's context. If the client gives the call up because it takes too
// long, the context ends with shared.ErrLetRun: nobody wants the command to end. The
// client's next message is read once the command is a job that it can find. The caller
// calls end when the call has returned.
func (s *stdio) patient(ctx context.Context, req *mcp.CallToolRequest) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	id := req.Extra.Header.Get(idHeader)
	done := make(chan struct{})
	s.calls.Store(id, func() {
		cancel(shared.ErrLetRun)
		<-done
	})
	return ctx, func() {
		s.calls.Delete(id)
		close(done)
		cancel(nil)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the longest line that is taken as a message.
const maxMessage = 16 << 20

// lineTransport carries JSON-RPC messages, one a line. Unlike the SDK's own
// transports it survives a line that is none, and tells the client.
type lineTransport struct {
	out   io.Writer
	lines <-chan line
	quit  chan struct{} // closed by Close
	close sync.Once
	write sync.Mutex // held while out is written
}

var _ mcp.Connection = (*lineTransport)(nil)

// line is one of the client's, or the error that ended them.
type line struct {
	text []byte
	err  error
}

func newLineTransport(in io.Reader, out io.Writer) *lineTransport {
	lines := make(chan line)
	t := &lineTransport{out: out, lines: lines, quit: make(chan struct{})}
	go t.read(bufio.NewReaderSize(in, 64<<10), lines) // until in ends: a read cannot be called back
	return t
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID implements mcp.Connection.
func (t *lineTransport) SessionID() string { return "" }

// Close implements mcp.Connection.
func (t *lineTransport) Close() error {
	t.close.Do(func() { close(t.quit) })
	return nil
}

func (t *lineTransport) read(in *bufio.Reader, lines chan<- line) {
	for {
		text, err := readLine(in)
		select {
		case lines <- line{text, err}:
		case <-t.quit:
			return
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

var errTooLong = fmt.Errorf("the message is longer than %d bytes", maxMessage)

// readLine returns a line, or errTooLong in place of one. A last line may lack
// its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxMessage; tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(bytes.TrimSpace(text)) == 0:
			return nil, err
		case tooLong:
			return nil, errTooLong
		default:
			return text, nil
		}
	}
}

// Read implements mcp.Connection. It answers what is no message itself.
func (t *lineTransport) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l := <-t.lines:
			if l.err != nil && !errors.Is(l.err, errTooLong) {
				return nil, l.err
			}
			if l.err == nil && len(bytes.TrimSpace(l.text)) == 0 {
				continue
			}
			message, problem := decodeMessage(l)
			if problem == nil {
				return message, nil
			}
			if err := t.reject(l.text, problem); err != nil {
				return nil, err
			}
		case <-t.quit:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func decodeMessage(l line) (jsonrpc.Message, *jsonrpc.Error) {
	if l.err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: l.err.Error()}
	}
	if !json.Valid(l.text) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON: send one message a line"}
	}
	message, err := jsonrpc.DecodeMessage(l.text)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the line is not a request, notification or response of JSON-RPC 2.0; batches are not supported"}
	}
	return message, nil
}

// reject answers a line with an error, under its id where it has one.
func (t *lineTransport) reject(text []byte, problem *jsonrpc.Error) error {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(text, &request)
	if id := request.ID; len(id) == 0 || id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
		request.ID = json.RawMessage("null")
	}
	answer, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", request.ID, problem})
	if err != nil {
		return err
	}
	return t.writeLine(answer)
}

// Write implements mcp.Connection.
func (t *lineTransport) Write(_ context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	return t.writeLine(text)
}

func (t *lineTransport) writeLine(text []byte) error {
	t.write.Lock()
	defer t.write.Unlock()
	_, err := t.out.Write(append(text, '\n'))
	return err
}

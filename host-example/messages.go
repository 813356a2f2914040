package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages passes on the lines of stdin that are JSON-RPC, and answers the others with an
// error: the SDK would end the server and all its jobs. It reports the end of stdin half a
// second late: at the end the SDK drops the calls under way, so that
// "printf '…' | host-example mcp" would print nothing.
type messages struct {
	io.Closer // of stdin
	from      *bufio.Reader

	// line is the rest of a line to pass on.
	line []byte

	// ended is closed when Read reports the end.
	ended chan struct{}
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.line) == 0 {
		line, err := m.from.ReadBytes('\n')
		isBlank := len(bytes.TrimSpace(line)) == 0
		if isBlank && err != nil {
			time.Sleep(time.Second / 2)
			close(m.ended)
			return 0, err
		}
		if isBlank {
			continue
		}
		if problem := check(line); problem != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":null,"error":%s}`+"\n", problem)
			continue
		}
		m.line = line
	}
	n := copy(p, m.line)
	m.line = m.line[n:]
	return n, nil
}

// check returns the JSON-RPC error for a line that is no message, "" for a message or a
// batch.
func check(line []byte) string {
	if !json.Valid(line) {
		return `{"code":-32700,"message":"this line is not JSON"}`
	}
	batch := []json.RawMessage{line}
	if bytes.TrimSpace(line)[0] == '[' {
		_ = json.Unmarshal(line, &batch) // it is an array
	}
	for _, message := range batch {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			batch = nil
		}
	}
	if len(batch) == 0 {
		return `{"code":-32600,"message":"this line is not a JSON-RPC message"}`
	}
	return ""
}

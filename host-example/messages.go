package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages passes on the lines of stdin that are JSON-RPC, and answers the others with an
// error: the SDK would end the server and all its jobs.
type messages struct {
	in   io.Closer
	from *bufio.Reader
	out  io.Writer
	line []byte // the rest of a line to pass on
}

func newMessages(in io.ReadCloser, out io.Writer) *messages {
	return &messages{in: in, from: bufio.NewReader(in), out: out}
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.line) == 0 {
		line, err := m.from.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		if problem := check(line); problem != "" {
			fmt.Fprintf(m.out, `{"jsonrpc":"2.0","id":null,"error":%s}`+"\n", problem)
			continue
		}
		m.line = line
	}
	n := copy(p, m.line)
	m.line = m.line[n:]
	return n, nil
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.in.Close() }

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

// lockedFile writes whole lines, for several writers.
type lockedFile struct {
	*os.File
	mu sync.Mutex
}

// Write implements io.Writer.
func (l *lockedFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.File.Write(p)
}

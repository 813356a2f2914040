package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is how long a line of stdin may be.
const maxLine = 16 << 20

// messages passes on the lines of stdin that are one JSON-RPC message each, and answers the others
// with an error: the SDK would end the server and all its jobs. It reports the end of stdin half a
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
		line, isLong, err := m.next()
		if len(line) == 0 && err != nil {
			time.Sleep(time.Second / 2)
			close(m.ended)
			return 0, err
		}
		problem := ""
		switch {
		case isLong:
			problem = refusal(-32600, fmt.Sprintf("this line is longer than %d MiB", maxLine>>20))
		case len(line) > 0:
			problem = check(line)
		}
		switch {
		case problem != "":
			fmt.Println(problem)
		case len(line) > 0:
			line = append(line, '\n') // the SDK takes no blanks before it
			m.line = line
		}
	}
	n := copy(p, m.line)
	m.line = m.line[n:]
	return n, nil
}

// next returns a line without the blanks around it, and whether it is longer than maxLine: then it
// is only the beginning.
func (m *messages) next() (line []byte, isLong bool, err error) {
	for {
		part, err := m.from.ReadSlice('\n')
		isLong = isLong || len(line)+len(part) > maxLine
		if !isLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), isLong, err
		}
	}
}

// check returns the answer to a line that is not one message, "" for a message.
func check(line []byte) string {
	_, err := jsonrpc.DecodeMessage(line)
	switch {
	case err == nil:
		return ""
	case !json.Valid(line):
		return refusal(-32700, "this line is not JSON")
	case line[0] == '[':
		return refusal(-32600, "this line is an array: give each JSON-RPC message a line of its own")
	}
	return refusal(-32600, "this line is not a JSON-RPC message")
}

// refusal is an error for a line whose id is not known.
func refusal(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, message)
}

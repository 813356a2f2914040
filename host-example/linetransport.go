package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage is the longest line that is taken as a message.
	maxMessage = 16 << 20
	// lastWrites is how long a client has to read what is being written when
	// its input has ended.
	lastWrites = 2 * time.Second
	// lastAnswers is how long requests from before that may take still.
	lastAnswers = time.Second
)

// lineTransport carries JSON-RPC messages, one a line. Unlike the SDK's own
// transports it survives a line that is none, and tells the client; and it
// ends, although the client does not read what is written to it.
type lineTransport struct {
	out      io.Writer
	lines    <-chan line
	over     context.Context         // its end is that of Read, its cause what Read returns
	hangUp   context.CancelCauseFunc // ends over
	gone     chan struct{}           // closed when nothing is written any more
	close    sync.Once
	inFlight inFlight

	write      sync.Mutex     // held while out is written
	rejections sync.WaitGroup // being written
	rejecting  atomic.Int32   // how many
}

var _ mcp.Connection = (*lineTransport)(nil)

// line is one of the client's, or the error that ended them.
type line struct {
	text []byte
	err  error
}

// newLineTransport returns a transport that ends with in, or with ctx.
func newLineTransport(ctx context.Context, in io.Reader, out io.Writer) *lineTransport {
	lines := make(chan line)
	t := &lineTransport{out: out, lines: lines, gone: make(chan struct{})}
	t.over, t.hangUp = context.WithCancelCause(context.Background())
	context.AfterFunc(ctx, func() { t.hangUp(io.EOF) })
	context.AfterFunc(t.over, func() { time.AfterFunc(lastWrites, t.closeOnce) })
	go t.read(bufio.NewReaderSize(in, 64<<10), lines) // until in ends: a read cannot be called back
	return t
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID implements mcp.Connection.
func (t *lineTransport) SessionID() string { return "" }

// Close implements mcp.Connection.
func (t *lineTransport) Close() error {
	t.closeOnce()
	return nil
}

func (t *lineTransport) closeOnce() {
	t.hangUp(io.EOF)
	t.close.Do(func() { close(t.gone) })
}

func (t *lineTransport) read(in *bufio.Reader, lines chan<- line) {
	for {
		text, err := readLine(in)
		select {
		case lines <- line{text, err}:
		case <-t.over.Done():
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

// Read implements mcp.Connection. It answers what is no message itself. When
// it returns an error, the SDK cancels the calls under way.
func (t *lineTransport) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case l := <-t.lines:
			if l.err != nil && !errors.Is(l.err, errTooLong) {
				t.answerLast()
				t.hangUp(l.err)
				t.rejections.Wait() // Close may follow
				return nil, l.err
			}
			if l.err == nil && len(bytes.TrimSpace(l.text)) == 0 {
				continue
			}
			message, problem := decodeMessage(l)
			if problem == nil {
				t.inFlight.came(message)
				return message, nil
			}
			t.reject(rejection(l.text, problem))
		case <-t.over.Done():
			return nil, context.Cause(t.over)
		}
	}
}

// answerLast waits for the answers to what came before the input's end, unless
// they take too long: what a command does is over with the client.
func (t *lineTransport) answerLast() {
	timer := time.NewTimer(lastAnswers)
	defer timer.Stop()
	select {
	case <-t.inFlight.allAnswered():
	case <-timer.C:
	case <-t.over.Done():
	}
}

// reject does not wait for a client that does not read: the end of its input
// would not be seen. What such a one has maxRejections to read of already gets no
// more.
func (t *lineTransport) reject(answer []byte) {
	if t.rejecting.Add(1) > maxRejections {
		t.rejecting.Add(-1)
		return
	}
	t.rejections.Go(func() {
		defer t.rejecting.Add(-1)
		_ = t.writeLine(answer)
	})
}

const maxRejections = 1000

// Write implements mcp.Connection.
func (t *lineTransport) Write(_ context.Context, message jsonrpc.Message) error {
	defer t.inFlight.done(message)
	if !t.inFlight.isWanted(message) {
		return nil
	}
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	return t.writeLine(text)
}

// writeLine gives a write up when the connection is over, but not at once. A
// write that fails ends the connection.
func (t *lineTransport) writeLine(text []byte) error {
	written := make(chan error, 1)
	go func() { // for as long as the client does not read: a write cannot be called back
		t.write.Lock()
		defer t.write.Unlock()
		_, err := t.out.Write(append(text, '\n'))
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			t.hangUp(err)
		}
		return err
	case <-t.gone:
		return io.EOF
	}
}

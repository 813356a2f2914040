package session

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/rpc"
	"sync"

	"github.com/hashicorp/go-plugin"

	"bashplugin/shared/internal/muxconn"
)

// line is one connection of a Host.
type line struct {
	broker   *plugin.MuxBroker
	conn     *rpc.Client
	protocol *plugin.RPCClient // nil: go-plugin's client has it
	hangUp   func()

	// moved returns how many bytes have gone over the connection, without heartbeats.
	moved func() int64

	ended chan struct{}
	close func() // closes ended
}

func newLine(broker *plugin.MuxBroker, conn *rpc.Client) *line {
	l := &line{
		broker: broker,
		conn:   conn,
		hangUp: func() {},
		moved:  func() int64 { return 0 },
		ended:  make(chan struct{}),
	}
	l.close = sync.OnceFunc(func() { close(l.ended) })
	return l
}

// end ends the connection.
func (l *line) end() {
	l.close()
	l.hangUp()
}

// during makes a first call on the connection, unless ctx ends or the connection does.
func (l *line) during(ctx context.Context, call func() error) error {
	stop := context.AfterFunc(ctx, l.end)
	err := call()
	if !stop() {
		return ctx.Err()
	}
	return err
}

// follow takes news on the lifeline until the connection ends.
func (l *line) follow(id uint32, news func(kind byte, text string)) {
	defer l.end()
	conn, err := l.broker.Accept(id)
	if err != nil { // the broker gives up after 5 s; this process may have been stopped for that long
		conn, err = l.broker.Accept(id)
	}
	if err != nil {
		return
	}
	defer conn.Close()
	var header [3]byte
	for {
		_, err := io.ReadFull(conn, header[:])
		if err != nil {
			return
		}
		text := make([]byte, binary.BigEndian.Uint16(header[1:]))
		_, err = io.ReadFull(conn, text)
		if err != nil {
			return
		}
		news(header[0], string(text))
	}
}

// lines is what go-plugin dispenses in a Host: the connection.
type lines struct{}

// Server implements plugin.Plugin.
func (lines) Server(*plugin.MuxBroker) (any, error) {
	return nil, errors.New("this is the host's half")
}

// Client implements plugin.Plugin.
func (lines) Client(broker *plugin.MuxBroker, conn *rpc.Client) (any, error) {
	return newLine(broker, conn), nil
}

// dial makes a connection.
func (h *Host) dial(ctx context.Context) (*line, error) {
	socket, err := h.config.Dial(ctx)
	if err != nil {
		return nil, err
	}
	conn := muxconn.New(socket, h.config.Silence)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	at, err := h.dispense(conn)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return at, nil
}

func (h *Host) dispense(conn *muxconn.Conn) (*line, error) {
	protocol, err := plugin.NewRPCClient(conn, plugin.PluginSet{h.config.Plugin: lines{}})
	if err != nil {
		return nil, err
	}
	log := h.config.Log
	if log == nil {
		log = io.Discard
	}
	err = protocol.SyncStreams(io.Discard, log)
	if err != nil {
		return nil, err
	}
	dispensed, err := protocol.Dispense(h.config.Plugin)
	if err != nil {
		return nil, err
	}
	at := dispensed.(*line)
	at.protocol = protocol
	at.hangUp = func() { _ = conn.Close() }
	at.moved = conn.Moved
	return at, nil
}

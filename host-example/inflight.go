package main

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// inFlight is the client's requests that have no answer yet. One that the
// client has cancelled gets none. The zero value is ready.
type inFlight struct {
	mu        sync.Mutex          // guards what follows
	cancelled map[jsonrpc.ID]bool // by request
	answered  chan struct{}       // closed when there is none; nil: nobody waits
}

// came takes note of a message of the client's.
func (f *inFlight) came(message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancelled == nil {
		f.cancelled = make(map[jsonrpc.ID]bool)
	}
	if request.IsCall() {
		f.cancelled[request.ID] = false
		return
	}
	if id, ok := cancelledBy(request); ok {
		if _, waits := f.cancelled[id]; waits {
			f.cancelled[id] = true
		}
	}
}

func cancelledBy(notification *jsonrpc.Request) (id jsonrpc.ID, ok bool) {
	if notification.Method != "notifications/cancelled" {
		return id, false
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(notification.Params, &params) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	return id, err == nil
}

// isWanted reports whether the client waits for a message.
func (f *inFlight) isWanted(message jsonrpc.Message) bool {
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.cancelled[response.ID]
}

// done takes note that a message was written, or is not wanted.
func (f *inFlight) done(message jsonrpc.Message) {
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cancelled, response.ID)
	if len(f.cancelled) == 0 && f.answered != nil {
		close(f.answered)
		f.answered = nil
	}
}

// allAnswered returns a channel that is closed when no request waits for its
// answer. No more may come.
func (f *inFlight) allAnswered() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	answered := make(chan struct{})
	if len(f.cancelled) == 0 {
		close(answered)
	} else {
		f.answered = answered
	}
	return answered
}

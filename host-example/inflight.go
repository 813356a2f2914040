package main

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// inFlight is the client's requests that have no answer yet. One that the
// client has cancelled gets none. The zero value is ready.
type inFlight struct {
	mu        sync.Mutex
	cancelled map[jsonrpc.ID]bool // by request
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
	cancelled := f.cancelled[response.ID]
	delete(f.cancelled, response.ID)
	return !cancelled
}

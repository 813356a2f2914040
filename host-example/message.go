package main

import (
	"encoding/json"
	"math"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// envelope is what tells the kind of a message. A key that is missing is nil,
// one that is null is not.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// decodeMessage decodes a line. It is stricter than the SDK, which takes what
// it cannot answer for something that wants no answer.
func decodeMessage(l line) (jsonrpc.Message, *jsonrpc.Error) {
	if l.err != nil {
		return nil, invalidRequest(l.err.Error())
	}
	if !json.Valid(l.text) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON: send one message a line"}
	}
	message, err := jsonrpc.DecodeMessage(l.text)
	var e envelope
	_ = json.Unmarshal(l.text, &e)
	switch {
	case e.ID != nil && !isID(e.ID):
		return nil, invalidRequest("the id is neither a string nor an integer")
	case e.ID != nil && !isExact(e.ID):
		return nil, invalidRequest("the id is too large: use a string, or an integer below 2^53")
	case err != nil, e.Method == nil && e.Result == nil && e.Error == nil:
		return nil, invalidRequest("the line is not a request, notification or response of JSON-RPC 2.0; batches are not supported")
	}
	return message, nil
}

func invalidRequest(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}

// isID reports whether an answer can have the id: a string or an integer.
func isID(id json.RawMessage) bool {
	var value any
	_ = json.Unmarshal(id, &value)
	switch value := value.(type) {
	case string:
		return true
	case float64:
		return value == math.Trunc(value)
	}
	return false
}

// isExact reports whether the SDK, for which numbers are floating-point, keeps
// the id as it is.
func isExact(id json.RawMessage) bool {
	var value float64
	return json.Unmarshal(id, &value) != nil || math.Abs(value) < 1<<53
}

// rejection answers a line with an error, under its id where it has one.
func rejection(text []byte, problem *jsonrpc.Error) []byte {
	var e envelope
	_ = json.Unmarshal(text, &e)
	if !isID(e.ID) {
		e.ID = json.RawMessage("null")
	}
	answer, _ := json.Marshal(struct { // none of it can fail
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", e.ID, problem})
	return answer
}

//go:build linux

package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) read(body []byte) (c conversation) {
	var request struct {
		Tools    []json.RawMessage
		Messages []struct{ Content any }
	}
	_ = json.Unmarshal(body, &request)
	for _, tool := range request.Tools {
		c.define(nameOf(tool), tool)
	}
	for _, message := range request.Messages {
		parts, _ := message.Content.([]any)
		for _, part := range parts {
			p, _ := part.(object)
			if p["type"] == "tool_result" {
				c.answers = append(c.answers, texts(p["content"]))
			}
		}
	}
	return c
}

func (anthropic) write(w http.ResponseWriter, body []byte, n int, call *call, text string) {
	usage := object{"input_tokens": 1, "output_tokens": 1}
	block := object{"type": "text", "text": ""}
	delta := object{"type": "text_delta", "text": text}
	full := object{"type": "text", "text": text}
	reason := "end_turn"
	if call != nil {
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": call.name, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": argumentsOf(call)}
		full = object{"type": "tool_use", "id": block["id"], "name": call.name, "input": call.arguments}
		reason = "tool_use"
	}
	message := object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": "scripted",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !isStream(body) {
		message["content"] = []any{full}
		message["stop_reason"] = reason
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	events(w,
		object{"type": "message_start", "message": message},
		object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"},
	)
}

func isStream(body []byte) bool {
	var request struct{ Stream bool }
	_ = json.Unmarshal(body, &request)
	return request.Stream
}

// responses is OpenAI's Responses API.
type responses struct{}

func (responses) read(body []byte) (c conversation) {
	var request struct {
		Tools []json.RawMessage
		Input any
	}
	_ = json.Unmarshal(body, &request)
	for _, tool := range request.Tools {
		c.define(nameOf(tool), tool)
		var namespace struct{ Tools []json.RawMessage }
		_ = json.Unmarshal(tool, &namespace)
		for _, inner := range namespace.Tools {
			c.define(nameOf(tool)+"/"+nameOf(inner), inner)
		}
	}
	items, _ := request.Input.([]any)
	for _, item := range items {
		i, _ := item.(object)
		if kind, _ := i["type"].(string); strings.HasSuffix(kind, "_output") {
			c.answers = append(c.answers, texts(i["output"]))
		}
	}
	return c
}

func (responses) write(w http.ResponseWriter, _ []byte, n int, call *call, text string) {
	id := fmt.Sprintf("resp_%d", n)
	item := object{
		"type": "message", "role": "assistant", "id": fmt.Sprintf("m_%d", n),
		"content": []any{object{"type": "output_text", "text": text}},
	}
	if call != nil {
		namespace, name, found := strings.Cut(call.name, "/")
		item = object{
			"type": "function_call", "call_id": fmt.Sprintf("call_%d", n),
			"name": namespace, "arguments": argumentsOf(call),
		}
		if found {
			item["name"] = name
			item["namespace"] = namespace
		}
	}
	usage := object{
		"input_tokens": 1, "input_tokens_details": nil,
		"output_tokens": 1, "output_tokens_details": nil, "total_tokens": 2,
	}
	events(w,
		object{"type": "response.created", "response": object{"id": id}},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": id, "usage": usage}},
	)
}

// chat is OpenAI's Chat Completions API.
type chat struct{}

func (chat) read(body []byte) (c conversation) {
	var request struct {
		Tools    []struct{ Function json.RawMessage }
		Messages []struct {
			Role    string
			Content any
		}
	}
	_ = json.Unmarshal(body, &request)
	for _, tool := range request.Tools {
		c.define(nameOf(tool.Function), tool.Function)
	}
	for _, message := range request.Messages {
		if message.Role == "tool" {
			c.answers = append(c.answers, texts(message.Content))
		}
	}
	return c
}

func (chat) write(w http.ResponseWriter, body []byte, n int, call *call, text string) {
	message := object{"role": "assistant", "content": text}
	reason := "stop"
	if call != nil {
		function := object{"name": call.name, "arguments": argumentsOf(call)}
		message = object{"role": "assistant", "content": nil, "tool_calls": []any{
			object{"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function", "function": function},
		}}
		reason = "tool_calls"
	}
	usage := object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	chunk := func(part string, message any, reason any) object {
		return object{
			"id": fmt.Sprintf("chat_%d", n), "object": part, "created": 1, "model": "scripted",
			"choices": []any{object{"index": 0, "finish_reason": reason, map[string]string{
				"chat.completion": "message", "chat.completion.chunk": "delta",
			}[part]: message}},
		}
	}
	if !isStream(body) {
		whole := chunk("chat.completion", message, reason)
		whole["usage"] = usage
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(whole)
		return
	}
	last := chunk("chat.completion.chunk", object{}, reason)
	last["usage"] = usage
	events(w, chunk("chat.completion.chunk", message, nil), last)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// gemini is the Gemini API.
type gemini struct{ isStream bool }

func (gemini) read(body []byte) (c conversation) {
	var request struct {
		Tools []struct {
			FunctionDeclarations []json.RawMessage
		}
		Contents []struct {
			Parts []struct{ FunctionResponse struct{ Response any } }
		}
	}
	_ = json.Unmarshal(body, &request)
	for _, tool := range request.Tools {
		for _, function := range tool.FunctionDeclarations {
			c.define(nameOf(function), function)
		}
	}
	for _, content := range request.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse.Response != nil {
				c.answers = append(c.answers, texts(part.FunctionResponse.Response))
			}
		}
	}
	return c
}

func (g gemini) write(w http.ResponseWriter, _ []byte, _ int, call *call, text string) {
	part := object{"text": text}
	if call != nil {
		part = object{"functionCall": object{"name": call.name, "args": call.arguments}}
	}
	answer := object{
		"candidates": []any{object{
			"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
		"modelVersion":  "scripted",
	}
	if g.isStream {
		events(w, answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Format is a shape in which a model API takes definitions.
type Format string

// The formats.
const (
	Anthropic Format = "anthropic" // name, description and input_schema, as in a Definition
	OpenAI    Format = "openai"    // functions with parameters
	Gemini    Format = "gemini"    // functionDeclarations, with parameters in its subset of JSON Schema
)

// Formats returns every format.
func Formats() []Format { return []Format{Anthropic, OpenAI, Gemini} }

// Render returns the definitions as the tools of a request to a model API, an array.
// It fails if there is no such format.
func (t *Toolset) Render(format Format) (json.RawMessage, error) {
	var tools, functions []any
	for _, d := range t.Definitions() {
		function := map[string]any{"name": d.Name, "description": d.Description, "parameters": d.InputSchema}
		switch format {
		case Anthropic:
			tools = append(tools, d)
		case OpenAI:
			tools = append(tools, map[string]any{"type": "function", "function": function})
		case Gemini:
			function["parameters"] = forGemini(d.InputSchema)
			maps.DeleteFunc(function, func(_ string, value any) bool { return value == nil })
			functions = append(functions, function)
			tools = []any{map[string]any{"functionDeclarations": functions}}
		default:
			return nil, fmt.Errorf("unknown format %q: use one of %q", format, Formats())
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(tools)
	return bytes.TrimSpace(b.Bytes()), err
}

// forGemini returns a schema without what Gemini refuses: additionalProperties, lists of
// types, and an object without properties, for which it returns nil.
func forGemini(schema json.RawMessage) any {
	var object struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
		Required   []string                  `json:"required,omitempty"`
	}
	if err := json.Unmarshal(schema, &object); err != nil || len(object.Properties) == 0 {
		return nil
	}
	for _, property := range object.Properties {
		if types, ok := property["type"].([]any); ok {
			property["type"] = types[0]
		}
	}
	return object
}

package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
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
			var schema map[string]any
			_ = json.Unmarshal(d.InputSchema, &schema) // cannot fail
			delete(schema, "additionalProperties")     // Gemini refuses it,
			if function["parameters"] = schema; schema["properties"] == nil {
				delete(function, "parameters") // and an object without properties
			}
			functions = append(functions, function)
			tools = []any{map[string]any{"functionDeclarations": functions}}
		default:
			return nil, fmt.Errorf("unknown format %q: use one of %q", format, Formats())
		}
	}
	return plainJSON(tools), nil
}

// plainJSON is JSON for models: < is not \u003c there. v is of this package's making.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // cannot fail
	return bytes.TrimSpace(b.Bytes())
}

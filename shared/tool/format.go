package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Format is a shape in which a model API takes definitions.
type Format string

// The formats.
const (
	// Anthropic has name, description and input_schema, as in a Definition.
	Anthropic Format = "anthropic"

	// OpenAI has functions with parameters.
	OpenAI Format = "openai"

	// Gemini has functionDeclarations, with parameters in its subset of JSON Schema.
	Gemini Format = "gemini"
)

// Formats returns every format.
func Formats() []Format { return []Format{Anthropic, OpenAI, Gemini} }

// Render returns the definitions as the tools of a request to a model API, an array.
// It fails if there is no such format.
func (t *Toolset) Render(format Format) (json.RawMessage, error) {
	if !slices.Contains(Formats(), format) {
		return nil, fmt.Errorf("unknown format %q: use one of %q", format, Formats())
	}
	var tools []any
	for _, d := range t.Definitions() {
		switch format {
		case Anthropic:
			tools = append(tools, d)
		case OpenAI:
			tools = append(tools, map[string]any{"type": "function", "function": function{
				Name:        d.Name,
				Description: d.Description,
				Parameters:  d.InputSchema,
			}})
		case Gemini:
			tools = append(tools, function{
				Name:        d.Name,
				Description: d.Description,
				Parameters:  geminiSchema(d.InputSchema),
			})
		}
	}
	if format == Gemini {
		tools = []any{map[string]any{"functionDeclarations": tools}}
	}
	return plainJSON(tools), nil
}

// function is a tool for OpenAI and Gemini.
type function struct {
	Description string          `json:"description"`
	Name        string          `json:"name"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// geminiSchema is the part of a schema that Gemini takes: it refuses an object without
// properties, and a choice of types beside a description.
func geminiSchema(schema json.RawMessage) json.RawMessage {
	var object struct {
		Type       string                        `json:"type"`
		Properties map[string]*jsonschema.Schema `json:"properties"`
		Required   []string                      `json:"required,omitempty"`
	}
	_ = json.Unmarshal(schema, &object) // cannot fail
	if len(object.Properties) == 0 {
		return nil
	}
	for _, property := range object.Properties {
		if property.AnyOf != nil {
			property.Type = property.AnyOf[0].Type
			property.AnyOf = nil
		}
	}
	return plainJSON(object)
}

// plainJSON is JSON for models: it has < instead of \u003c. The caller passes only what JSON
// can have.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // cannot fail
	return bytes.TrimSpace(b.Bytes())
}

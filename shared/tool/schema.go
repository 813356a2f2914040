package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// kind is the type of a parameter, in JSON Schema's words.
type kind string

const (
	stringKind  kind = "string"
	integerKind kind = "integer"
	booleanKind kind = "boolean"
)

// parameter is one argument of a tool: what the model is told of it and what
// is accepted are both made from here.
type parameter struct {
	name, description string
	kind              kind
	required          bool
	nullable          bool               // the schema has null, which is accepted wherever nothing is required
	enum              []string           // nil: any string
	text              func(string) error // nil: any string
	min, max          int64              // of an integer
}

// parameters are the arguments of a tool, in the order in which the model sees
// them.
type parameters []parameter

// property is a parameter in a JSON Schema.
type property struct {
	Type        any      `json:"type"`
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description"`
}

// schema returns the JSON Schema of the arguments. Which of them exclude each
// other is not in it: model APIs do not take conditions at the top level.
func (ps parameters) schema() json.RawMessage {
	var required []string
	var properties bytes.Buffer
	for i, p := range ps {
		if i > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, "%s:%s", encode(p.name), encode(p.property()))
		if p.required {
			required = append(required, p.name)
		}
	}
	schema := fmt.Appendf(nil, `{"type":"object","properties":{%s},`, properties.Bytes())
	if required != nil {
		schema = fmt.Appendf(schema, `"required":%s,`, encode(required))
	}
	return append(schema, `"additionalProperties":false}`...)
}

func (p parameter) property() property {
	if p.nullable {
		return property{Type: []kind{p.kind, "null"}, Enum: p.enum, Description: p.description}
	}
	return property{Type: p.kind, Enum: p.enum, Description: p.description}
}

// usage shows the arguments in one line, as in
// {"command": string, "timeout"?: integer}.
func (ps parameters) usage() string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		optional := "?"
		if p.required {
			optional = ""
		}
		accepted := string(p.kind)
		if p.enum != nil {
			accepted = alternatives(p.enum)
		}
		parts[i] = fmt.Sprintf("%q%s: %s", p.name, optional, accepted)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func alternatives(enum []string) string {
	quoted := make([]string, len(enum))
	for i, value := range enum {
		quoted[i] = fmt.Sprintf("%q", value)
	}
	return strings.Join(quoted, " | ")
}

// encode returns JSON of a value that always has one.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

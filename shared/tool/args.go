package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// arguments are those of a call, by name. One that is null or, if it may be left out, empty or 0
// is nil: some models fill in all of them.
type arguments map[string]json.RawMessage

// checked is a struct of arguments with rules about several of them.
type checked interface {
	// check says in words for the model what is wrong, such as arguments that exclude each
	// other. given has the names of the arguments in the call that are not null.
	check(given arguments) error
}

// schemaFor returns the JSON Schema of a struct of arguments. Model APIs take no
// conditions at the top level, so the schema does not say which arguments
// exclude each other.
func schemaFor[A any](opts Options) (*jsonschema.Schema, json.RawMessage) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		panic(err) // the struct has a field that cannot be an argument
	}
	schema.AdditionalProperties = nil // clients that check calls would refuse what members ignores
	for _, field := range reflect.VisibleFields(reflect.TypeFor[A]()) {
		property := schema.Properties[argumentName(field)]
		property.Description = opts.fill(property.Description)
		if len(property.Types) > 0 { // of a pointer: null is as good as absent
			property.Type = property.Types[len(property.Types)-1]
			property.Types = nil
		}
		if property.Type == "integer" {
			property.Type = ""
			property.AnyOf = numbers()
		}
		if values, ok := field.Tag.Lookup("enum"); ok {
			for value := range strings.SplitSeq(values, "|") {
				property.Enum = append(property.Enum, value)
			}
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	return schema, text
}

// numbers are the schemas of a number: models also give one as a string.
func numbers() []*jsonschema.Schema {
	return []*jsonschema.Schema{{Type: "integer"}, {Type: "string"}}
}

// argumentNames maps the fields of a struct of arguments to the arguments' names.
func argumentNames[A any]() map[string]string {
	names := make(map[string]string)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[A]()) {
		names[field.Name] = argumentName(field)
	}
	return names
}

// argumentName returns the name of the argument that a field of a struct takes.
func argumentName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// usage shows the arguments on one line, as in
// {"command": string, "timeout"?: integer}.
func usage(schema *jsonschema.Schema) string {
	var parts []string
	for _, name := range schema.PropertyOrder {
		optional := "?"
		if slices.Contains(schema.Required, name) {
			optional = ""
		}
		parts = append(parts, fmt.Sprintf("%q%s: %s", name, optional, accepted(schema.Properties[name])))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// accepted returns the values that an argument may have, as in
// "default" | "slow", or its type if every value of that will do.
func accepted(property *jsonschema.Schema) string {
	var values []string
	for _, value := range property.Enum {
		values = append(values, fmt.Sprintf("%q", value))
	}
	kind := property.Type
	if property.AnyOf != nil {
		kind = property.AnyOf[0].Type
	}
	return cmp.Or(strings.Join(values, " | "), kind)
}

// decode reads a call's arguments into a struct that has the schema. Its errors
// are for the model: they say what is wrong, and what is allowed.
func decode(raw []byte, schema *jsonschema.Schema, opts Options, into any) error {
	text := strings.Trim(string(raw), " \t\r\n\"")
	if len(schema.Properties) == 0 && (text == "" || text == "null") {
		raw = []byte("{}") // as some clients call a tool without arguments
	}
	raw = unwrapped(raw)
	err := checkText(raw)
	if err != nil {
		return err
	}
	given, unknown, err := members(raw, schema)
	if err != nil {
		return err
	}
	for _, name := range unknown {
		meant := likely(name, schema)
		if _, ok := given[meant]; !ok && meant != "" {
			return fmt.Errorf("there is no argument %s: did you mean %s?", quote(name), meant)
		}
	}
	for _, name := range schema.Required {
		if given[name] == nil {
			return fmt.Errorf("%s is missing", name)
		}
	}
	known, err := json.Marshal(given)
	if err != nil {
		return err
	}
	err = json.Unmarshal(known, into)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name, _, _ := strings.Cut(mismatch.Field, ".")
		expected := accepted(schema.Properties[name])
		return fmt.Errorf("%s must be %s, not %s", name, expected, shorten(mismatch.Value, maxQuoted))
	}
	if err != nil {
		return err
	}
	return checkArguments(into, given, opts)
}

// unwrapped returns the object that is in a JSON string, as some models give it, and anything else
// as it is.
func unwrapped(raw []byte) []byte {
	var text string
	err := json.Unmarshal(raw, &text)
	if err != nil || checkText(raw) != nil || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return raw
	}
	return []byte(text)
}

// checkText returns an error unless raw is JSON that encoding/json takes as it is. It would
// replace characters that are not UTF-8, and so run another command.
func checkText(raw []byte) error {
	err := json.Unmarshal(raw, new(json.RawMessage))
	switch {
	case err != nil:
		return fmt.Errorf("they are not JSON (%w): give one JSON object", err)
	case !utf8.Valid(raw):
		return errors.New("they are not UTF-8: give one JSON object in UTF-8")
	case hasHalfPair(raw):
		return errors.New("they have half of a surrogate pair (\\ud800 to \\udfff): " +
			"give both halves, or the character itself")
	}
	return nil
}

// checkArguments checks a struct of arguments as a whole, and then each of them that was
// given. args points to the struct.
func checkArguments(args any, given arguments, opts Options) error {
	if c, ok := args.(checked); ok {
		err := c.check(given)
		if err != nil {
			return err
		}
	}
	value := reflect.ValueOf(args).Elem()
	for _, field := range reflect.VisibleFields(value.Type()) {
		argument, ok := value.FieldByIndex(field.Index).Interface().(kind)
		name := argumentName(field)
		if !ok || given[name] == nil {
			continue
		}
		err := argument.check(opts, name)
		if err != nil {
			return err
		}
	}
	return nil
}

// escape matches an escape sequence in JSON. Its group matches one half of a
// surrogate pair whose other half is missing.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)`)

func hasHalfPair(raw []byte) bool {
	isHalf := func(match []int) bool { return match[2] >= 0 }
	return slices.ContainsFunc(escape.FindAllSubmatchIndex(raw, -1), isHalf)
}

// members returns the arguments in a JSON object that the schema has, and the names of the
// others, which some clients add to every call. It refuses a name that is given twice.
func members(object []byte, schema *jsonschema.Schema) (given arguments, unknown []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if brace, _ := decoder.Token(); brace != json.Delim('{') {
		return nil, nil, errors.New("they are no JSON object: give one")
	}
	given = make(arguments)
	for decoder.More() {
		token, _ := decoder.Token()
		name, _ := token.(string)
		var value json.RawMessage
		err := decoder.Decode(&value)
		if err != nil {
			return nil, nil, err
		}
		property, known := schema.Properties[name]
		if !known {
			unknown = append(unknown, name)
			continue
		}
		if _, twice := given[name]; twice {
			return nil, nil, fmt.Errorf("%s is given twice", name)
		}
		isOptional := !slices.Contains(schema.Required, name)
		if string(value) == "null" || isOptional && isZero(value, property) {
			given[name] = nil
			continue
		}
		isChoice := func(choice any) bool { return fmt.Sprintf("%q", choice) == string(value) }
		if property.Enum != nil && !slices.ContainsFunc(property.Enum, isChoice) {
			return nil, nil, fmt.Errorf("%s must be %s", name, accepted(property))
		}
		given[name] = value
	}
	return given, unknown, nil
}

// isZero reports whether a value is empty or 0.
func isZero(value json.RawMessage, property *jsonschema.Schema) bool {
	if property.Type != "string" {
		value = unquoted(value)
	}
	switch string(value) {
	case `""`:
		return true
	case "0":
		return property.Type != "string"
	}
	return false
}

// likely returns the name in the schema that a model meant by another: one of them is the other
// with letters left out, as cmd for command and timeout for timeout_ms. It returns "" if no name
// is like it.
func likely(name string, schema *jsonschema.Schema) string {
	within := func(short, long string) bool {
		for _, letter := range long {
			short = strings.TrimPrefix(short, string(letter))
		}
		return short == ""
	}
	lower := strings.ToLower(name)
	for _, known := range schema.PropertyOrder {
		isShort := lower != "" && within(lower, known)
		isLong := len(name) <= 2*len(known) && within(known, lower)
		if isShort || isLong {
			return known
		}
	}
	return ""
}

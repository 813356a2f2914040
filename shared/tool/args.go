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

// checked is a struct of arguments with rules about several of them.
type checked interface {
	// check says in words for the model what is wrong, such as arguments that exclude each
	// other. given has the names of the arguments in the call that are not null.
	check(given map[string]bool) error
}

// schemaFor returns the JSON Schema of a struct of arguments. Model APIs take no
// conditions at the top level, so the schema does not say which arguments
// exclude each other.
func schemaFor[A any](opts Options) (*jsonschema.Schema, json.RawMessage) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		panic(err) // the struct has a field that cannot be an argument
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[A]()) {
		property := schema.Properties[argumentName(field)]
		property.Description = opts.fill(property.Description)
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
	return cmp.Or(strings.Join(values, " | "), property.Type)
}

// decode reads a call's arguments into a struct that has the schema. Its errors
// are for the model: they say what is wrong, and what is allowed.
func decode(raw []byte, schema *jsonschema.Schema, opts Options, into any) error {
	text := strings.Trim(string(raw), " \t\r\n\"")
	if len(schema.Properties) == 0 && (text == "" || text == "null") {
		raw = []byte("{}") // as some clients call a tool without arguments
	}
	err := checkText(raw)
	if err != nil {
		return err
	}
	given, err := members(raw, schema)
	if err != nil {
		return err
	}
	for _, name := range schema.Required {
		if !given[name] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	err = json.Unmarshal(raw, into)
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
func checkArguments(args any, given map[string]bool, opts Options) error {
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
		if !ok || !given[name] {
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

// members maps each name in a JSON object to whether its value is not null. It refuses a
// name that is given twice, and one that the schema does not have, also if it differs in
// upper and lower case alone; encoding/json would accept these. It accepts "description",
// which models give unasked.
func members(object []byte, schema *jsonschema.Schema) (given map[string]bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	if brace, _ := decoder.Token(); brace != json.Delim('{') {
		return nil, errors.New("they are no JSON object: give one")
	}
	given = make(map[string]bool)
	for decoder.More() {
		token, _ := decoder.Token()
		name, _ := token.(string)
		property, known := schema.Properties[name]
		_, twice := given[name]
		switch {
		case !known && name != "description":
			return nil, fmt.Errorf("there is no argument %s%s", quote(name), likely(name, schema))
		case twice:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if known && value != nil && property.Enum != nil && !slices.Contains(property.Enum, value) {
			return nil, fmt.Errorf("%s must be %s", name, accepted(property))
		}
		given[name] = value != nil
	}
	return given, nil
}

// likely asks "did you mean" if an unknown name is like one that the schema has: one of them
// is the other with letters left out, as cmd for command and timeout for timeout_ms.
func likely(name string, schema *jsonschema.Schema) string {
	within := func(short, long string) bool {
		for _, letter := range long {
			short = strings.TrimPrefix(short, string(letter))
		}
		return short == ""
	}
	for _, known := range schema.PropertyOrder {
		if within(name, known) || within(known, name) {
			return ": did you mean " + known + "?"
		}
	}
	return ""
}

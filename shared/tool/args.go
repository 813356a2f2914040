package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"bashplugin/shared"
)

// checked is a struct of arguments with rules that a JSON Schema cannot express.
type checked interface {
	// check reports numbers out of bounds and arguments that exclude each other,
	// in words for the model. given has the names of the arguments in the call that
	// are not null.
	check(opts Options, given map[string]bool) error
}

// integer is an integer in the sense of JSON Schema: 5, and also 5.0 and 5e0.
type integer int64

// UnmarshalJSON implements json.Unmarshaler. A number beyond ±1<<53 becomes that
// bound.
func (n *integer) UnmarshalJSON(raw []byte) error {
	raw = unquoted(raw)
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax): // not a number
		return json.Unmarshal(raw, (*int64)(n))
	case f != math.Trunc(f):
		return &json.UnmarshalTypeError{Value: "number " + string(raw), Type: reflect.TypeFor[int64]()}
	}
	const most = 1 << 53
	*n = integer(max(-most, min(f, most)))
	return nil
}

// flag is a boolean.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(raw []byte) error { return json.Unmarshal(unquoted(raw), (*bool)(f)) }

var quoted = regexp.MustCompile(`(?i)^"\s*(-?\d+(?:\.\d+)?|true|false)\s*"$`)

// unquoted returns the number or boolean in a JSON string, as some models give them, and
// any other value as it is.
func unquoted(raw []byte) []byte {
	if match := quoted.FindSubmatch(raw); match != nil {
		return bytes.ToLower(match[1])
	}
	return raw
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
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
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
	if given := strings.Trim(string(raw), " \t\r\n\""); len(schema.Properties) == 0 && (given == "" || given == "null") {
		raw = []byte("{}") // as some clients call a tool without arguments
	}
	err := json.Unmarshal(raw, new(json.RawMessage))
	switch {
	case err != nil:
		return fmt.Errorf("they are not JSON (%w): give one JSON object", err)
	case !utf8.Valid(raw): // encoding/json would replace the characters, and so run another command
		return errors.New("they are not UTF-8: give one JSON object in UTF-8")
	case hasHalfPair(raw):
		return errors.New("they have half of a surrogate pair (\\ud800 to \\udfff): give both halves, or the character itself")
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
		return fmt.Errorf("%s must be %s, not %s", name, accepted(schema.Properties[name]), shorten(mismatch.Value, maxQuoted))
	}
	if c, ok := into.(checked); ok && err == nil {
		return c.check(opts, given)
	}
	return err
}

// escape matches an escape sequence in JSON. Its group matches one half of a
// surrogate pair whose other half is missing.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)`)

func hasHalfPair(raw []byte) bool {
	return slices.ContainsFunc(escape.FindAllSubmatchIndex(raw, -1), func(match []int) bool { return match[2] >= 0 })
}

// members maps each name in a JSON object to whether its value is not null. It
// refuses unknown names but description, which models give unasked, and two kinds that
// encoding/json would accept: a name given twice, and a known one in capital letters.
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

// likely asks whether an unknown name stands for one that the schema has: one is the other
// with letters left out, as cmd for command and timeout for timeout_ms.
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

func checkCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("command is empty: give a bash command")
	case len(command) > shared.MaxCommandBytes:
		return fmt.Errorf("command has %d bytes, and %d are allowed: write the script to a file and run that", len(command), shared.MaxCommandBytes)
	case strings.IndexByte(command, 0) >= 0:
		return errors.New("command has a NUL character, which bash cannot take: leave it out, or have printf '\\0' make it")
	}
	return nil
}

func checkRange(name string, n, from, to integer) error {
	if n < from || n > to {
		return fmt.Errorf("%s is out of range: give a number from %d to %d", name, from, to)
	}
	return nil
}

// checkTime returns an error for a number of units that is longer than a call may ask for.
func checkTime(opts Options, name string, n integer, unit time.Duration) error {
	return checkRange(name, n, 0, integer(opts.MaxTimeout/unit))
}

func checkPattern(name, pattern string) error {
	if _, err := regexp.Compile(pattern); err != nil || len(pattern) > shared.MaxPatternBytes {
		return fmt.Errorf("%s is no regular expression of at most %d bytes, in Go's syntax: %w", name, shared.MaxPatternBytes, cmp.Or(err, errors.New("it is longer")))
	}
	return nil
}

// times returns n units, or byDefault if n is 0.
func times(n integer, unit, byDefault time.Duration) time.Duration {
	return cmp.Or(time.Duration(n)*unit, byDefault)
}

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
	check(given map[string]bool) error
}

// integer is an integer in the sense of JSON Schema: 5, and also 5.0 and 5e0.
type integer int64

// UnmarshalJSON implements json.Unmarshaler. A number beyond ±1<<53 becomes that
// bound.
func (n *integer) UnmarshalJSON(raw []byte) error {
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

// schemaFor returns the JSON Schema of a struct of arguments. Model APIs take no
// conditions at the top level, so the schema does not say which arguments
// exclude each other.
func schemaFor[A any]() (*jsonschema.Schema, json.RawMessage) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		panic(err) // the struct has a field that cannot be an argument
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[A]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if values, ok := field.Tag.Lookup("enum"); ok {
			for value := range strings.SplitSeq(values, "|") {
				property.Enum = append(property.Enum, value)
			}
		}
		slices.Reverse(property.Types) // null comes last
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
	return cmp.Or(strings.Join(values, " | "), property.Type, strings.Join(property.Types, " or "))
}

// decode reads a call's arguments into a struct that has the schema. Its errors
// are for the model: they say what is wrong, and what is allowed.
func decode(raw []byte, schema *jsonschema.Schema, into any) error {
	if err := wellFormed(raw); err != nil {
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
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		name, _, _ := strings.Cut(mismatch.Field, ".")
		return fmt.Errorf("%s must be %s, not %s", name, accepted(schema.Properties[name]), shorten(mismatch.Value, maxQuoted))
	}
	if c, ok := into.(checked); ok && err == nil {
		return c.check(given)
	}
	return err
}

// escape matches an escape sequence in JSON. Its group matches one half of a
// surrogate pair whose other half is missing.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)`)

// wellFormed returns an error for broken JSON and broken characters. encoding/json
// would replace the characters, and so run another command than the model's.
func wellFormed(raw []byte) error {
	err := json.Unmarshal(raw, new(json.RawMessage))
	switch {
	case err != nil:
		return fmt.Errorf("they are not JSON (%w): give one JSON object", err)
	case !utf8.Valid(raw):
		return errors.New("they are not UTF-8: give one JSON object in UTF-8")
	}
	for _, match := range escape.FindAllSubmatchIndex(raw, -1) {
		if match[2] >= 0 {
			return errors.New("they have half of a surrogate pair (\\ud800 to \\udfff): give both halves, or the character itself")
		}
	}
	return nil
}

// members maps each name in a JSON object to whether its value is not null. It
// refuses unknown names, and two kinds that encoding/json would accept: a name
// that is given twice, and a known name in capital letters.
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
		case !known:
			return nil, fmt.Errorf("there is no argument %s", quote(name))
		case twice:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if value != nil && property.Enum != nil && !slices.Contains(property.Enum, value) {
			return nil, fmt.Errorf("%s must be %s", name, accepted(property))
		}
		given[name] = value != nil
	}
	return given, nil
}

// maxTimeout is the longest timeout that a model may give, in milliseconds: a
// day.
const maxTimeout = integer(24 * time.Hour / time.Millisecond)

// checkRun returns an error for a command or a timeout that cannot be used.
func checkRun(command string, timeout integer) error {
	return cmp.Or(checkCommand(command), checkRange("timeout", timeout, 0, maxTimeout))
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

// milliseconds returns n milliseconds, or byDefault if n is 0.
func milliseconds(n integer, byDefault time.Duration) time.Duration {
	if n == 0 {
		return byDefault
	}
	return time.Duration(n) * time.Millisecond
}

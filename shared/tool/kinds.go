package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bashplugin/shared"
)

// kind is a type of arguments with rules that a JSON Schema cannot express.
type kind interface {
	// check says in words for the model what is wrong with the value of the argument with
	// this name.
	check(opts Options, name string) error
}

// command is a text for bash.
type command string

func (c command) check(Options, string) error {
	switch {
	case strings.TrimSpace(string(c)) == "":
		return errors.New("command is empty: give a bash command")
	case len(c) > shared.MaxCommandBytes:
		return fmt.Errorf("command has %d bytes, and %d are allowed: write the script to a file and run that",
			len(c), shared.MaxCommandBytes)
	case strings.IndexByte(string(c), 0) >= 0:
		return errors.New("command has a NUL character, which bash cannot take: " +
			"leave it out, or have printf '\\0' make it")
	}
	return nil
}

// pattern is a regular expression.
type pattern string

func (p pattern) check(_ Options, name string) error {
	problem := errors.New("it is longer")
	if len(p) <= shared.MaxPatternBytes {
		_, problem = regexp.Compile(string(p))
	}
	if problem != nil {
		return fmt.Errorf("%s is no regular expression of at most %d bytes, in Go's syntax: %w",
			name, shared.MaxPatternBytes, problem)
	}
	return nil
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
	*n = integer(max(-maxInteger, min(f, maxInteger)))
	return nil
}

// maxInteger is the greatest integer up to which JSON's numbers are exact.
const maxInteger = 1 << 53

func (n integer) checkRange(name string, from, to integer) error {
	if n < from || n > to {
		return fmt.Errorf("%s is out of range: give a number from %d to %d", name, from, to)
	}
	return nil
}

// processID is the number of a process.
type processID integer

// UnmarshalJSON implements json.Unmarshaler.
func (p *processID) UnmarshalJSON(raw []byte) error { return (*integer)(p).UnmarshalJSON(raw) }

func (p processID) check(_ Options, name string) error {
	return integer(p).checkRange(name, 1, math.MaxInt32)
}

// milliseconds is a time that a call may ask for.
type milliseconds integer

// UnmarshalJSON implements json.Unmarshaler.
func (n *milliseconds) UnmarshalJSON(raw []byte) error { return (*integer)(n).UnmarshalJSON(raw) }

func (n milliseconds) check(opts Options, name string) error {
	return integer(n).checkRange(name, 0, integer(opts.MaxTimeout.Milliseconds()))
}

// or returns the duration, or byDefault if that is 0.
func (n milliseconds) or(byDefault time.Duration) time.Duration {
	if n == 0 {
		return byDefault
	}
	return time.Duration(n) * time.Millisecond
}

// wholeSeconds is a time that a call may ask for.
type wholeSeconds integer

// UnmarshalJSON implements json.Unmarshaler.
func (n *wholeSeconds) UnmarshalJSON(raw []byte) error { return (*integer)(n).UnmarshalJSON(raw) }

func (n wholeSeconds) check(opts Options, name string) error {
	return integer(n).checkRange(name+", in seconds,", 0, integer(opts.MaxTimeout/time.Second))
}

// or returns the duration, or byDefault if that is 0.
func (n wholeSeconds) or(byDefault time.Duration) time.Duration {
	if n == 0 {
		return byDefault
	}
	return time.Duration(n) * time.Second
}

// jobID is an id. Some models give the number in it as a number.
type jobID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *jobID) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if raw[0] != '"' && json.Unmarshal(raw, &number) == nil {
		*id = jobID(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(id))
}

// flag is a boolean.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(raw []byte) error { return json.Unmarshal(unquoted(raw), (*bool)(f)) }

var quoted = regexp.MustCompile(`(?i)^"\s*(-?\d+(?:\.\d+)?|true|false)\s*"$`)

// unquoted returns the number or boolean in a JSON string, as some models give them, and
// any other value as it is.
func unquoted(raw []byte) []byte {
	match := quoted.FindSubmatch(raw)
	if match == nil {
		return raw
	}
	return bytes.ToLower(match[1])
}

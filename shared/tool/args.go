package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bashplugin/shared"
)

// arguments are decoded arguments.
type arguments []argument

type argument struct {
	name  string
	value any // a string, an int64 or a bool
}

func (a arguments) get(name string) any {
	for _, argument := range a {
		if argument.name == name {
			return argument.value
		}
	}
	return nil
}

func (a arguments) has(name string) bool { return a.get(name) != nil }

func (a arguments) text(name string) string { s, _ := a.get(name).(string); return s }

func (a arguments) number(name string) int64 { n, _ := a.get(name).(int64); return n }

func (a arguments) flag(name string) bool { b, _ := a.get(name).(bool); return b }

// decode takes a JSON object with the parameters and nothing else. Its errors
// are for the model: they say what to give instead.
func (ps parameters) decode(raw json.RawMessage) (arguments, error) {
	if err := wellFormed(raw); err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return nil, fmt.Errorf("they are %s: give one JSON object", describe(raw))
	}
	args := make(arguments, 0, len(ps))
	err := members(raw, func(name string, value []byte) error {
		i := slices.IndexFunc(ps, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("there is no argument %s", quote(name))
		}
		if slices.ContainsFunc(args, func(a argument) bool { return a.name == name }) {
			return fmt.Errorf("%s is given twice", name)
		}
		parsed, err := ps[i].parse(value)
		args = append(args, argument{ps[i].name, parsed})
		return err
	})
	if err != nil {
		return nil, err
	}
	return args, ps.complete(args)
}

// complete reports a required argument that is missing.
func (ps parameters) complete(args arguments) error {
	for _, p := range ps {
		if p.required && !args.has(p.name) {
			return fmt.Errorf("%s is missing", p.name)
		}
	}
	return nil
}

// parse checks a valid JSON value. It is nil for a null where nothing is needed:
// models send one for what they leave out.
func (p parameter) parse(value []byte) (any, error) {
	switch given := kindOf(value); {
	case given == "null" && !p.required:
		return nil, nil
	case given != string(p.kind) && (given != "number" || p.kind != integerKind):
		return nil, fmt.Errorf("%s is %s: give %s", p.name, describe(value), p.article())
	}
	switch p.kind {
	case stringKind:
		s := unquote(value)
		return s, p.checkText(s)
	case integerKind:
		return p.integer(string(value))
	}
	return value[0] == 't', nil
}

// kindOf returns the type of a valid JSON value, in JSON Schema's words.
func kindOf(value []byte) string {
	switch value[0] {
	case '"':
		return string(stringKind)
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return string(booleanKind)
	case 'n':
		return "null"
	}
	return "number"
}

func (p parameter) checkText(s string) error {
	if p.enum != nil && !slices.Contains(p.enum, s) {
		return fmt.Errorf("%s is %s: give one of %s", p.name, quote(s), strings.Join(p.enum, ", "))
	}
	if p.text != nil {
		return p.text(s)
	}
	return nil
}

// integer takes what JSON Schema calls one: 5, and 5.0 and 5e0 too.
func (p parameter) integer(number string) (int64, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		f, _ := strconv.ParseFloat(number, 64) // an overflow is infinite
		if f != math.Trunc(f) {
			return 0, fmt.Errorf("%s is %s: give a whole number", p.name, shorten(number, maxQuoted))
		}
		n = int64(max(math.MinInt64, min(f, math.MaxInt64/2)))
	}
	if n < p.min || n > p.max {
		return 0, fmt.Errorf("%s is %s: give a number from %d to %d", p.name, shorten(number, maxQuoted), p.min, p.max)
	}
	return n, nil
}

func (p parameter) article() string {
	if p.kind == integerKind {
		return "an integer"
	}
	return "a " + string(p.kind)
}

// describe names a valid JSON value by its type, and by itself where that is
// short.
func describe(value []byte) string {
	switch kind := kindOf(value); kind {
	case "object", "array":
		return "an " + kind
	case "string":
		return "the string " + quote(unquote(value))
	case "number":
		return "the number " + shorten(string(value), maxQuoted)
	}
	return string(value)
}

// validCommand checks a command as far as nothing needs to be run for it.
func validCommand(command string) error {
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

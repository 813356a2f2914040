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

// arguments are decoded arguments by name: a string, an int64 or a bool each.
type arguments map[string]any

func (a arguments) has(name string) bool { _, ok := a[name]; return ok }

func (a arguments) text(name string) string { s, _ := a[name].(string); return s }

func (a arguments) number(name string) int64 { n, _ := a[name].(int64); return n }

func (a arguments) flag(name string) bool { b, _ := a[name].(bool); return b }

// decode takes a JSON object with the parameters and nothing else. Its errors
// are for the model: they say what to give instead.
func (ps parameters) decode(raw json.RawMessage) (arguments, error) {
	if err := wellFormed(raw); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if start, _ := decoder.Token(); start != json.Delim('{') {
		return nil, fmt.Errorf("they are %s: give one JSON object", describe(start))
	}
	args := make(arguments, len(ps))
	seen := make([]bool, len(ps))
	for decoder.More() {
		name, _ := decoder.Token()
		i := slices.IndexFunc(ps, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no argument %s", quote(fmt.Sprint(name)))
		case seen[i]:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		seen[i] = true
		value, _ := decoder.Token()
		if value == nil && ps[i].nullable {
			continue
		}
		var err error
		if args[ps[i].name], err = ps[i].parse(value); err != nil {
			return nil, err
		}
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

// parse checks a JSON value.
func (p parameter) parse(value json.Token) (any, error) {
	switch value := value.(type) {
	case string:
		if p.kind == stringKind {
			return value, p.checkText(value)
		}
	case bool:
		if p.kind == booleanKind {
			return value, nil
		}
	case json.Number:
		if p.kind == integerKind {
			return p.integer(value)
		}
	case nil:
		if !p.required {
			return nil, fmt.Errorf("%s is null: give %s, or leave it out", p.name, p.article())
		}
	}
	return nil, fmt.Errorf("%s is %s: give %s", p.name, describe(value), p.article())
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
func (p parameter) integer(number json.Number) (int64, error) {
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		f, _ := number.Float64() // an overflow is infinite
		if f != math.Trunc(f) {
			return 0, fmt.Errorf("%s is %s: give a whole number", p.name, shorten(number.String(), maxQuoted))
		}
		n = int64(max(math.MinInt64, min(f, math.MaxInt64/2)))
	}
	if n < p.min || n > p.max {
		return 0, fmt.Errorf("%s is %s: give a number from %d to %d", p.name, shorten(number.String(), maxQuoted), p.min, p.max)
	}
	return n, nil
}

func (p parameter) article() string {
	if p.kind == integerKind {
		return "an integer"
	}
	return "a " + string(p.kind)
}

// describe names a JSON value by its type, and by itself where it is short.
func describe(value json.Token) string {
	switch value := value.(type) {
	case json.Delim:
		if value == '[' {
			return "an array"
		}
		return "an object"
	case string:
		return "the string " + quote(value)
	case json.Number:
		return "the number " + shorten(value.String(), maxQuoted)
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
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

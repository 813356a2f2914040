package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// wellFormed reports what makes raw no JSON text. encoding/json would repair
// broken characters, and so run another command than the one that was meant.
func wellFormed(raw []byte) error {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return errors.New("they are missing: give one JSON object")
	case !json.Valid(raw):
		err := json.Unmarshal(raw, new(json.RawMessage)) // says where
		return fmt.Errorf("they are not JSON (%w): give one JSON object", err)
	case !utf8.Valid(raw):
		return errors.New("they are not UTF-8: give one JSON object in UTF-8")
	case halfSurrogate(raw):
		return errors.New("they have half of a surrogate pair (\\ud800 to \\udfff): give both halves, or the character itself")
	}
	return nil
}

// halfSurrogate reports whether valid JSON has an escaped surrogate without
// its other half.
func halfSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		raw = raw[i:]
		switch surrogate(raw) {
		case high:
			if surrogate(raw[6:]) != low {
				return true
			}
			raw = raw[12:]
		case low:
			return true
		default:
			raw = raw[2:]
		}
	}
}

const (
	high = 0xd800
	low  = 0xdc00
)

// surrogate returns which half of a pair the escape at the beginning of raw
// is, 0 where it is none.
func surrogate(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	switch unit & 0xfc00 {
	case high:
		return high
	case low:
		return low
	}
	return 0
}

// members calls do with each name and value of a JSON object, in their order
// and as they stand there, until it returns an error. encoding/json would drop
// all but the last of those with the same name. The JSON must be valid.
func members(object []byte, do func(name string, value []byte) error) error {
	rest := bytes.TrimLeft(object[1:], space)
	for rest[0] != '}' {
		name, after := cutValue(rest)
		after = bytes.TrimLeft(after, space)
		value, after := cutValue(bytes.TrimLeft(after[1:], space)) // past the colon
		if err := do(unquote(name), value); err != nil {
			return err
		}
		rest = bytes.TrimLeft(after, space+",")
	}
	return nil
}

const space = " \t\r\n"

// cutValue cuts the value at the beginning of valid JSON off from the rest.
func cutValue(raw []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringLen(raw[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if next := i + 1; depth > 0 || next < len(raw) && bytes.IndexByte([]byte(space+",}]"), raw[next]) < 0 {
				continue
			}
		}
		if depth == 0 {
			return raw[:i+1], raw[i+1:]
		}
	}
	return raw, nil
}

// stringLen is the length of the string at the beginning of valid JSON.
func stringLen(raw []byte) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(raw)
}

// unquote returns the text of a valid JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

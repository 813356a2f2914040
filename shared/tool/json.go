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
func wellFormed(raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return errors.New("they are missing: give one JSON object")
	}
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return fmt.Errorf("they are not JSON (%w): give one JSON object", err)
	}
	if !utf8.Valid(raw) {
		return errors.New("they are not UTF-8: give one JSON object in UTF-8")
	}
	if halfSurrogate(raw) {
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

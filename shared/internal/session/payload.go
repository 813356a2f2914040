package session

import (
	"bytes"
	"encoding/gob"
)

// Encode makes a payload, such as the settings of a session.
func Encode[T any](value T) ([]byte, error) {
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(value)
	return text.Bytes(), err
}

// Decode reads a payload.
func Decode[T any](payload []byte) (value T, err error) {
	err = gob.NewDecoder(bytes.NewReader(payload)).Decode(&value)
	return value, err
}

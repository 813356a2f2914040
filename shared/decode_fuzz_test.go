package shared

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What travels arrives as it was, and whatever else arrives is an error or a
// value that travels again.
func FuzzGob(f *testing.F) {
	var seed bytes.Buffer
	require.NoError(f, gob.NewEncoder(&seed).Encode(reply{Result: &Result{PID: 1, Stdout: Output{Content: "hi\n"}, Leftover: []Process{{2, "sleep"}}}}))
	f.Add(seed.Bytes())
	seed.Reset()
	require.NoError(f, gob.NewEncoder(&seed).Encode(executeArgs{Number: number{Call: 1}, Request: ExecuteRequest{Command: "true", Env: []string{"A=b"}, Timeout: time.Second}}))
	f.Add(seed.Bytes())
	seed.Reset()
	require.NoError(f, gob.NewEncoder(&seed).Encode(killArgs{number{2, 1}, KillRequest{PID: AllJobs}}))
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, new(reply))
		again(t, data, new(executeArgs))
		again(t, data, new(checkArgs))
		again(t, data, new(killArgs))
		again(t, data, new(Result))
	})
}

func again[T any](t *testing.T, data []byte, v *T) {
	if gob.NewDecoder(bytes.NewReader(data)).Decode(v) != nil {
		return
	}
	var wire bytes.Buffer
	require.NoError(t, gob.NewEncoder(&wire).Encode(v))
	got := new(T)
	require.NoError(t, gob.NewDecoder(&wire).Decode(got))
	assert.Equal(t, v, got)
}

// The value for the environment is refused with a word on what it should be,
// or means what it says.
func FuzzReattach(f *testing.F) {
	f.Add(Reattach{Protocol: "netrpc", Version: 1, PID: 1, Network: "unix", Addr: "/tmp/x"}.String())
	f.Add(`{"protocol":"grpc"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, value string) {
		r, err := parseReattach(value)
		switch {
		case err != nil:
			assert.True(t, errors.Is(err, ErrStart))
			assert.Contains(t, err.Error(), ReattachName)
		case value == "":
			assert.Nil(t, r)
		default:
			var want Reattach
			require.NoError(t, json.Unmarshal([]byte(value), &want))
			assert.Equal(t, want, *r)
		}
	})
}

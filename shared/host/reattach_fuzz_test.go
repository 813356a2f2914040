package host

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// The value for the environment is refused with a word on what it should be,
// or means what it says.
func FuzzReattach(f *testing.F) {
	f.Add(Reattach{Protocol: "netrpc", Version: 2, PID: 1, Network: "unix", Addr: "/tmp/x"}.String())
	f.Add(`{"protocol":"grpc"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, value string) {
		r, err := parseReattach(value)
		switch {
		case err != nil:
			assert.True(t, errors.Is(err, shared.ErrStart))
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

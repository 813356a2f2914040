package shared

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/internal/session"
)

// What travels arrives as it was, and whatever else arrives is an error or a
// value that travels again.
func FuzzGob(f *testing.F) {
	var seed bytes.Buffer
	require.NoError(f, gob.NewEncoder(&seed).Encode(answer{Result: &Result{PID: 1, Stdout: Output{Content: "hi\n"}, Leftover: []Process{{2, "sleep"}}}}))
	f.Add(seed.Bytes())
	seed.Reset()
	require.NoError(f, gob.NewEncoder(&seed).Encode(session.Request[executeArgs]{Number: 1, Value: executeArgs{Request: ExecuteRequest{Command: "true", Env: []string{"A=b"}, Timeout: time.Second}}}))
	f.Add(seed.Bytes())
	seed.Reset()
	require.NoError(f, gob.NewEncoder(&seed).Encode(session.Request[KillRequest]{Number: 2, Done: []uint64{1}, Value: KillRequest{PID: AllJobs}}))
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, new(session.Reply[answer]))
		again(t, data, new(session.Request[executeArgs]))
		again(t, data, new(session.Request[CheckRequest]))
		again(t, data, new(session.Request[KillRequest]))
		again(t, data, new(session.OpenArgs))
		again(t, data, new(SessionConfig))
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

// Limits are refused, and then nothing of them counts, or mean the same each time that they travel.
func FuzzResources(f *testing.F) {
	f.Add([]byte(`{"Memory": "2GiB", "CPU": "10s", "Processes": 200, "Disk": 1073741824}`))
	f.Add([]byte(`{"memory": 1, "Memory": "2K", "CPU": null}`))
	f.Add([]byte(`{"CPU": "1e3s", "CPU": 5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := Resources{Memory: 1, CPU: 2, Processes: 3, Disk: 4}
		r := before
		if json.Unmarshal(data, &r) != nil {
			assert.Equal(t, before, r)
			return
		}
		wire, err := json.Marshal(r)
		require.NoError(t, err)
		got := before
		require.NoError(t, json.Unmarshal(wire, &got))
		assert.Equal(t, r, got)
	})
}

// A size in text is what exact arithmetic says, but for what floating point rounds.
func FuzzSize(f *testing.F) {
	for _, text := range []string{"1", "512MiB", "1.5GiB", "0.0009765625K", "8191.9999999999999999T", "9007199254740991", "99999999999999999999", "1e3", "0x1p3K", "-1"} {
		f.Add(text)
	}
	written := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([KMGT]?)(?:iB)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		var r Resources
		object, err := json.Marshal(map[string]string{"Memory": text})
		require.NoError(t, err)
		err = json.Unmarshal(object, &r)
		match := written.FindStringSubmatch(text)
		if match == nil {
			assert.Error(t, err)
			return
		}
		exact, ok := new(big.Rat).SetString(match[1])
		require.True(t, ok)
		shift := 10 * (1 + strings.Index("KMGT", match[2]))
		if match[2] == "" {
			shift = 0
		}
		exact.Mul(exact, new(big.Rat).SetInt64(1<<shift))
		if err != nil {
			plain := exact.Cmp(big.NewRat(1, 1)) >= 0 && exact.Cmp(big.NewRat(1<<53-2, 1)) <= 0
			fraction := match[2] == "" && (strings.Contains(text, ".") || strings.HasSuffix(text, "iB"))
			assert.True(t, fraction || !plain, "refused: %v", err)
			return
		}
		lost, _ := exact.Sub(exact, new(big.Rat).SetInt64(r.Memory)).Float64()
		assert.InDelta(t, 0.5, lost, 0.5+float64(r.Memory)/(1<<52), "rounded down to a byte")
		assert.Positive(t, r.Memory)
	})
}

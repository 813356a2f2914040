package shared_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

func TestResourcesInJSON(t *testing.T) {
	t.Parallel()
	before := shared.Resources{Memory: 1, CPU: 2, Processes: 3, Disk: 4}
	whole := shared.Resources{Memory: 2 << 30, CPU: 10 * time.Second, Processes: 200, Disk: 512 << 20}
	for text, want := range map[string]shared.Resources{
		`{"Memory": "2GiB", "CPU": "10s", "Processes": 200, "Disk": "512MiB"}`:            whole,
		`{"Memory": 2147483648, "CPU": 10000000000, "Processes": 200, "Disk": 536870912}`: whole,
		`{"memory": "1.5GiB", "cpu": "1h30m"}`:                                            {3 << 29, 90 * time.Minute, 3, 4},
		`{"Memory": "4096", "Disk": "3T"}`:                                                {4096, 2, 3, 3 << 40},
		`{"Memory": "8191TiB", "Disk": "9007199254740991"}`:                               {8191 << 40, 2, 3, 1<<53 - 1},
		`{"Memory": "0.1KiB", "Disk": 9223372036854775807}`:                               {102, 2, 3, 1<<63 - 1},
		`{"Memory": 0, "CPU": 0, "Processes": 0, "Disk": 0}`:                              {},
		`{"Memory": null, "CPU": null}`:                                                   before,
		`{}`:                                                                              before,
		`null`:                                                                            before,
	} {
		r := before
		require.NoError(t, json.Unmarshal([]byte(text), &r), text)
		assert.Equal(t, want, r, text)
	}
	text, err := json.Marshal(shared.Resources{Memory: 2 << 30, CPU: 10 * time.Second})
	require.NoError(t, err)
	assert.Equal(t, `{"Memory":2147483648,"CPU":10000000000,"Processes":0,"Disk":0}`, string(text))
}

func TestResourcesInJSONThatMeanNothing(t *testing.T) {
	t.Parallel()
	const (
		noSize = ` is no size: use a positive number of bytes, or of KiB, MiB, GiB or TiB, ` +
			`as in 512MiB or 1.5GiB, below 8192TiB`
		noDuration = ` is no duration: use a positive number of nanoseconds, or text as in 10s or 1h30m`
	)
	sizes := []string{
		`""`, `"0"`, `"-1"`, `"-2GiB"`, `"+1"`, `"GiB"`, `"1 GiB"`, `" 1GiB"`, `"1GiB "`,
		`"5X"`, `"1MM"`, `"1kib"`, `"1GB"`, `"1B"`,
		`"0.5"`, `"1.5"`, `"0.0001KiB"`, `".5GiB"`, `"1.GiB"`, `"1,5GiB"`,
		`"1e3"`, `"1e3K"`, `"0x10"`, `"0x10K"`, `"1_000"`, `"Inf"`, `"NaN"`, `"infT"`,
		`"8192TiB"`, `"9007199254740992"`, `"9007199254740993"`, `"9223372036854775807"`,
		`"9223372036854775808"`, `"9999999999G"`, `"99999999999999999999T"`,
		`1.5`, `1e3`, `9223372036854775808`, `true`, `[]`, `{}`,
	}
	durations := []string{
		`""`, `"0"`, `"0s"`, `"-10s"`, `"0.1ns"`, `"10"`, `"10 s"`, `"s"`, `"1d"`, `"9999999h"`,
		`1.5`, `9223372036854775808`, `true`, `["10s"]`,
	}
	for name, c := range map[string]struct {
		values []string
		says   string
	}{
		"Memory": {sizes, noSize}, "Disk": {sizes, noSize}, "CPU": {durations, noDuration},
	} {
		for _, value := range c.values {
			r := shared.Resources{Memory: 1, CPU: 2, Processes: 3, Disk: 4}
			err := json.Unmarshal([]byte(`{"Processes": 9, "`+name+`": `+value+`}`), &r)
			require.Error(t, err, value)
			assert.Equal(t, value+c.says, err.Error())
			assert.Equal(t, shared.Resources{Memory: 1, CPU: 2, Processes: 3, Disk: 4}, r, "nothing of it counts")
		}
	}
	for text, says := range map[string]string{
		`{"Memmory": "2GiB"}`:  `unknown field "Memmory"`,
		`{"Processes": "200"}`: "Processes of type int",
		`{"Processes": 1.5}`:   "Processes of type int",
		`"2GiB"`:               "cannot unmarshal string",
		`[]`:                   "cannot unmarshal array",
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), new(shared.Resources)), says, text)
	}
}

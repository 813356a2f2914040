package confine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
)

func TestWhatAnOlderKernelCannotKeep(t *testing.T) {
	files, network := shared.Confine{ReadOnly: true, Private: true}, shared.Confine{NoNetwork: true}
	for name, c := range map[string]struct {
		confine shared.Confine
		abi     int
		filters bool
		kept    shared.Confine
		missing []string
	}{
		"all of it":              {files, 6, true, files, nil},
		"a newer one":            {network, 9, true, network, nil},
		"no signals":             {files, 5, true, files, []string{"signals"}},
		"no truncation":          {files, 2, true, files, []string{"truncation", "signals"}},
		"which is not asked for": {shared.Confine{Private: true}, 2, true, shared.Confine{Private: true}, []string{"signals"}},
		"no Landlock":            {files, 0, true, shared.Confine{}, []string{"files", "signals"}},
		"no Landlock, no files":  {network, 0, true, network, []string{"signals"}},
		"no filters":             {network, 6, false, shared.Confine{}, []string{"network", "limits of other processes"}},
		"no filters, no network": {files, 6, false, files, []string{"limits of other processes"}},
	} {
		t.Run(name, func(t *testing.T) {
			kept, missing := system{c.abi, c.filters}.keepable(c.confine)
			assert.Equal(t, c.kept, kept)
			assert.Len(t, missing, len(c.missing))
			for i, text := range c.missing {
				assert.Contains(t, missing[i], text)
			}
		})
	}
}

func TestAnUnconfinedCommandPaysNothing(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		p, err := NewPlan(nil, nil, "/", false)
		if err != nil || p.Restricts() {
			t.Error("confined")
		}
	}))
}

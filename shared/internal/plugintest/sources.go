//go:build unix

package plugintest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// NoteSources looks at what the programs are built from. go test notices which files a
// test looks at, and so does not take a result that it has kept for one of other programs.
// LaunchWith calls it.
func NoteSources(t testing.TB) {
	t.Helper()
	require.NoError(t, noteSources())
}

var noteSources = sync.OnceValue(func() error {
	for _, folder := range []string{"plugin", "shared", "host-example"} {
		err := filepath.WalkDir(filepath.Join(Root(), folder), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
})

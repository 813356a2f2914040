package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"bashplugin/shared/internal/plugintest"
)

// pluginPath is the real plugin, built from this tree.
var pluginPath string

func TestMain(m *testing.M) {
	os.Exit(plugintest.Main(func(dir string) int {
		pluginPath = filepath.Join(dir, "bash-plugin")
		return m.Run()
	}))
}

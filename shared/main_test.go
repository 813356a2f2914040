//go:build unix

package shared_test

import (
	"os"
	"path/filepath"
	"testing"

	"bashplugin/shared/internal/plugintest"
)

// pluginPath is the real plugin, built from this tree.
var pluginPath string

func TestMain(m *testing.M) {
	if os.Getenv(faultHostEnv) != "" {
		runFaultHost()
		return
	}
	if address := os.Getenv(faultServerEnv); address != "" {
		runFaultServer(address)
	}
	if os.Getenv(otherPluginEnv) != "" {
		serveOtherPlugin()
		return
	}
	os.Exit(plugintest.Main(func(dir string) int {
		pluginPath = filepath.Join(dir, "bash-plugin")
		return m.Run()
	}))
}

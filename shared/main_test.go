//go:build unix

package shared_test

import (
	"os"
	"testing"

	"bashplugin/shared/internal/plugintest"
)

func TestMain(m *testing.M) {
	if os.Getenv(otherPluginEnv) != "" {
		serveOtherPlugin()
		return
	}
	os.Exit(plugintest.Main(m.Run))
}

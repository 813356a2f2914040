//go:build unix

package confinement

import (
	"os"
	"testing"

	"bashplugin/shared/internal/plugintest"
)

func TestMain(m *testing.M) {
	os.Exit(plugintest.Main(m.Run))
}

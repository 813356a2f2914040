//go:build unix

package faults

import (
	"os"
	"testing"

	"bashplugin/shared/internal/plugintest"
)

func TestMain(m *testing.M) {
	if os.Getenv(faultHostEnv) != "" {
		runFaultHost()
		return
	}
	if address := os.Getenv(faultServerEnv); address != "" {
		runFaultServer(address)
	}
	os.Exit(plugintest.Main(m.Run))
}

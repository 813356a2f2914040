//go:build unix

package plugintest

import (
	"runtime/debug"
	"slices"
)

// Race reports whether the tests, and the programs that Build builds, have the race
// detector.
func Race() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

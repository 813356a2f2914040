//go:build race

package plugintest

const raceEnabled = true

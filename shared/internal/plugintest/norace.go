//go:build !race

package plugintest

// Race says whether the tests, and the programs that Build builds, have the race
// detector.
const Race = false

//go:build !race

package session

// defaultSeeds is how many networks make test simulates.
const defaultSeeds = 300

// underRace is set under the race detector.
const underRace = false

//go:build race

package session

// defaultSeeds is less under the race detector, which takes eight times as long.
const defaultSeeds = 40

// underRace is set under the race detector.
const underRace = true

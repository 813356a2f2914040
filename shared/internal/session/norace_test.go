//go:build !race

package session

// defaultSeeds is how many networks make test simulates.
const defaultSeeds = 300

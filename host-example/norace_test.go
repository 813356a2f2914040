//go:build !race

package main

// buildFlags build the programs as the tests are built.
var buildFlags []string

// parallel is how many tests run at a time: most of the time, they wait for programs.
const parallel = "8"

//go:build race

package main

// buildFlags build the programs as the tests are built.
var buildFlags = []string{"-race"}

// parallel is how many tests run at a time: the race detector keeps programs busy.
const parallel = "6"

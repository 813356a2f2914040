//go:build race

package main

// buildFlags build the programs as the tests are built.
var buildFlags = []string{"-race"}

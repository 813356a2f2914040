// Package plugintest is for tests that run the real plugin. Main builds the programs of
// this module for a TestMain; Launch and the functions beside it make calls that must
// succeed; Gate, Yard and others are what commands need in tests. Every wait ends after
// Hang.
package plugintest

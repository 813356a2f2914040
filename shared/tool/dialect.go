package tool

import (
	"fmt"

	"bashplugin/shared"
)

// Dialect names a set of tools.
type Dialect string

// Default is the dialect for a host whose model is tuned to none of the others.
const Default = Native

// dialect is a row of the table of dialects.
type dialect struct {
	name Dialect

	// tools makes the tools. Their names and descriptions are the dialect's own.
	tools func(shared.Bash, Options) *Toolset

	// defaults are the dialect's Timeout, MaxTimeout and Limits.
	defaults Options

	// instructions are those of Toolset.Instructions after the first sentence.
	instructions string
}

// dialects is the table of dialects.
func dialects() []dialect {
	return []dialect{
		nativeDialect(),
		claudeDialect(),
		codexDialect(),
		checkPIDDialect(),
		modeDialect(),
		taskIDDialect(),
		bashIDDialect(),
	}
}

// Dialects returns every dialect.
func Dialects() []Dialect {
	var names []Dialect
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// findDialect returns the dialect with a name.
func findDialect(name Dialect) (dialect, error) {
	for _, d := range dialects() {
		if d.name == name {
			return d, nil
		}
	}
	return dialect{}, fmt.Errorf("unknown dialect %q: use one of %q", name, Dialects())
}

// freshShell is a part of most descriptions.
const freshShell = "Each command has a shell of its own: " +
	"the working directory and variables do not persist between calls."

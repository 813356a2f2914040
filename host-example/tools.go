package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bashplugin/shared/tool"
)

// printTools prints the definitions of a dialect's tools for a model API. It needs
// no plugin.
func printTools(args []string) (int, error) {
	set := newFlagSet("tools", "[flags]", "Print the definitions of a dialect's tools as JSON, ready for a model API.")
	dialect := dialectFlag(set)
	dir := set.String("dir", "", "directory that a description may name (default the working directory)")
	if err := parseFlags(set, args); err != nil {
		return usageError, err
	}
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		return 1, err
	}
	tools, err := tool.New(tool.Dialect(*dialect), nil, tool.Options{Dir: absolute})
	if err != nil {
		return usageError, err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tools.Definitions()); err != nil {
		return 1, fmt.Errorf("cannot write the definitions: %w", err)
	}
	return 0, nil
}

// dialectFlag adds -dialect.
func dialectFlag(set *flag.FlagSet) *string {
	var names []string
	for _, d := range tool.Dialects() {
		names = append(names, string(d))
	}
	return set.String("dialect", string(tool.BashID), "set of tools: "+strings.Join(names, ", "))
}

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"bashplugin/shared/tool"
)

// printTools prints the definitions of a dialect's tools for a model API. It
// needs no plugin.
func printTools(args []string) (int, error) {
	set := flag.NewFlagSet("tools", flag.ContinueOnError)
	dialect := set.String("dialect", string(tool.Default), "set of tools: "+list(tool.Dialects()))
	format := set.String("format", string(tool.Anthropic), "model API: "+list(tool.Formats()))
	dir := set.String("dir", "", "directory that the tools' descriptions may name (default the working directory)")
	if err := parse(set, args); err != nil {
		return usageError, err
	}
	absolute, _ := filepath.Abs(*dir) // "" if the working directory is gone: then no description names one
	tools, err := tool.New(tool.Dialect(*dialect), nil, tool.Options{Dir: absolute})
	if err != nil {
		return usageError, err
	}
	definitions, err := tools.Render(tool.Format(*format))
	if err != nil {
		return usageError, err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(definitions); err != nil {
		return 1, fmt.Errorf("cannot write the definitions: %w", err)
	}
	return 0, nil
}

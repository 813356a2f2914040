package main

import "strings"

// plain tells an error to a person at this program, who has flags and
// directives where a host's author has the contract.
func plain(err error) string {
	return strings.NewReplacer(
		"LaunchConfig.Path", "-plugin",
		"LaunchConfig.Dir", "-dir",
		"LaunchConfig.StartTimeout", "-start-timeout",
		"Check with AllJobs", ":jobs",
	).Replace(err.Error())
}

// quote writes a path for a shell.
func quote(path string) string {
	if strings.Trim(path, quoteless) == "" && path != "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// quoteless is what a shell takes as it is.
const quoteless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

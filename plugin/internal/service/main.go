// Package service is the process bash-plugin: its flags and subcommands, and how it serves hosts.
package service

import (
	"fmt"
	"os"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
	"bashplugin/shared"
)

// IsPlugin reports whether this process was started as the plugin of a host, or as
// the guardian of a plugin.
func IsPlugin() bool {
	if process.IsGuardian() {
		return true
	}
	return os.Getenv(shared.Handshake.MagicCookieKey) == shared.Handshake.MagicCookieValue
}

// Main is the main function of the program. Its goroutine must be locked to the main
// thread: the kernel gives orphans to that thread, so commands start on others. It never
// returns.
func Main() {
	if process.IsGuardian() {
		findLogs := func(logs string) process.Logs { return output.FindFolder(logs) }
		exit(process.RunGuardian(findLogs))
	}
	if len(os.Args) > 1 && os.Args[1] == "certs" {
		exit(say(certs(os.Args[2:])))
	}
	flags, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bash-plugin:", err)
		os.Exit(2)
	}
	switch {
	case flags.help:
		fmt.Print(usage())
		os.Exit(0)
	case flags.version:
		fmt.Println(version())
		os.Exit(0)
	case flags.remote.listen != "":
		exit(say(serveRemote(flags)))
	case flags.debug:
		exit(serveDebug(flags))
	case !IsPlugin():
		fmt.Fprint(os.Stderr, usage())
		os.Exit(1)
	default:
		exit(serveHost(flags))
	}
}

// say prints an error, and returns it.
func say(err error) error {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bash-plugin:", err)
	}
	return err
}

func exit(err error) {
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

package main

import (
	"fmt"
	"os"
	"runtime"

	"bashplugin/plugin/internal/output"
	"bashplugin/plugin/internal/process"
)

func main() {
	runtime.LockOSThread() // the kernel gives orphans to the main thread, so commands start on other threads
	if process.IsGuardian() {
		exit(process.RunGuardian(output.Sweep))
	}
	flags, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bash-plugin:", err)
		os.Exit(2)
	}
	switch {
	case flags.help:
		fmt.Print(usage())
	case flags.version:
		fmt.Println(version())
	case flags.debug:
		exit(serveDebug(flags))
	case !startedByHost():
		fmt.Fprint(os.Stderr, usage())
		os.Exit(1)
	default:
		exit(serve(flags))
	}
}

func exit(err error) {
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

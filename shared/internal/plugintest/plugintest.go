// Package plugintest builds the programs of this module for tests that run
// them as their users do.
package plugintest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Race reports whether the tests, and the programs that Build builds, have the race
// detector.
func Race() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Alive reports whether a process runs. A zombie does not, unless some of its
// threads still run.
func Alive(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // after the name, which may contain anything
	return len(fields) > 17 && (fields[0] != "Z" && fields[0] != "X" || fields[17] > "1")
}

// Build builds bash-plugin and host-example into dir, with the race detector
// if the tests have it.
func Build(dir string) error {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	for program, source := range map[string]string{"bash-plugin": "./plugin", "host-example": "./host-example"} {
		args := []string{"build", "-o", filepath.Join(dir, program)}
		if Race() {
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, source)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build %s: %w\n%s", program, err, out)
		}
	}
	return nil
}

// Main builds the programs, runs the tests and returns their exit code. It
// gives run the folder with the programs. A data race in one of the programs
// fails the tests too.
func Main(run func(dir string) int) int {
	dir, err := os.MkdirTemp("", "plugintest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	races := filepath.Join(dir, "race")
	flag.Parse()
	parallel := "8" // tests at a time: most of the time, they wait for processes
	if Race() {
		parallel = "6"
	}
	err = errors.Join(
		Build(dir),
		os.Setenv("GORACE", "atexit_sleep_ms=0 log_path="+races),
		os.Unsetenv("BASH_PLUGIN_REATTACH"), // a developer may have set it
		flag.Set("test.parallel", parallel),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := run(dir)
	reports, _ := filepath.Glob(races + ".*") // one file for each process
	for _, report := range reports {
		text, _ := os.ReadFile(report)
		fmt.Fprintf(os.Stderr, "%s\n", text)
		code = 1
	}
	return code
}

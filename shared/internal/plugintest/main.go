//go:build unix

package plugintest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Path is the real plugin, built from this tree. Main sets it; host-example is beside it.
var Path string

// Main builds the programs, runs the tests and returns their exit code. A data race in
// one of the programs fails the tests too.
func Main(run func() int) int {
	actAsPlugin()
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
		build(dir),
		os.Setenv("GORACE", "atexit_sleep_ms=0 log_path="+races),
		os.Unsetenv("BASH_PLUGIN_REATTACH"), // a developer may have set it
		flag.Set("test.parallel", parallel),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	Path = filepath.Join(dir, "bash-plugin")
	code := run()
	reports, _ := filepath.Glob(races + ".*") // one file for each process
	for _, report := range reports {
		text, _ := os.ReadFile(report)
		fmt.Fprintf(os.Stderr, "%s\n", text)
		code = 1
	}
	return code
}

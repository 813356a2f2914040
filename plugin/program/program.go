// Package program is bash-plugin as a part of another program: a host that calls Run
// can start itself as its plugin, and ships as one binary.
package program

import (
	"runtime"

	"bashplugin/plugin/internal/service"
)

// init, unlike main, always runs on the main thread, which the plugin's main
// goroutine has to keep.
func init() {
	if service.IsPlugin() {
		runtime.LockOSThread()
	}
}

// Run makes this process the plugin, and never returns, if Launch has started it
// (with the host's own os.Executable as the Path). In any other process Run does
// nothing. A host calls it before everything else in main. What the host's packages
// do in init, they do in the plugin too: there they must not write to stdout.
func Run() {
	if service.IsPlugin() {
		service.Main()
	}
}

package main

import (
	"runtime"

	"bashplugin/plugin/internal/service"
)

// Unlike main, init always runs on the main thread.
func init() { runtime.LockOSThread() }

func main() { service.Main() }

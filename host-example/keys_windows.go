package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// keySignals is the signal of Ctrl-C.
func keySignals() []os.Signal { return []os.Signal{os.Interrupt} }

// isTyped waits 50 ms for keys at most, and reports whether there are some.
func isTyped() bool {
	event, err := windows.WaitForSingleObject(windows.Handle(os.Stdin.Fd()), 50)
	return err == nil && event == windows.WAIT_OBJECT_0
}

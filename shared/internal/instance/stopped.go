package instance

import (
	"bytes"
	"fmt"
	"os"
)

// IsStopped reports whether a process is stopped, by a signal or a debugger. On
// systems without Linux's /proc it always returns false.
func IsStopped(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	state := bytes.LastIndexByte(text, ')') + 2 // after the name, which may contain anything
	return state < len(text) && (text[state] == 'T' || text[state] == 't')
}

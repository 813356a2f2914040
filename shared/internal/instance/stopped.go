package instance

import (
	"bytes"
	"fmt"
	"os"
)

// IsStopped reports whether a process is stopped, by a signal or a debugger. It
// cannot tell on systems without Linux's /proc.
func IsStopped(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	state := bytes.LastIndexByte(text, ')') + 2 // behind a name that may hold anything
	return state < len(text) && (text[state] == 'T' || text[state] == 't')
}

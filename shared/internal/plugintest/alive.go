package plugintest

import (
	"os"
	"strconv"
	"strings"
)

// Alive reports whether a process runs; one that waits to be reaped does not,
// unless others of its threads have not ended yet.
func Alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	threads := fields[17]
	return fields[0] != "Z" && fields[0] != "X" || threads > "1"
}

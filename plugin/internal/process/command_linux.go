package process

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
)

// isPassing reports whether a process is ending, is between its fork and the end
// of its exec, or reads from a pipe.
func isPassing(p info) bool {
	return p.ending || p.forked || isRelay(p) || arguments(p.pid) == ""
}

// isRelay reports whether a process reads from a pipe.
func isRelay(p info) bool {
	stdin, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", p.pid))
	return strings.HasPrefix(stdin, "pipe:")
}

// execTime bounds how long Members waits for the arguments of processes amid their exec.
const execTime = 10 * time.Millisecond

// commandLine returns a process's arguments, its name if it has none, and "" if it has
// ended. It waits until the deadline for the arguments of an exec under way.
func commandLine(pid int, deadline time.Time) string {
	name, _ := readProc("%d/comm", pid)
	text := arguments(pid)
	for text == "" && len(name) > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		text = arguments(pid)
	}
	return cmp.Or(text, printable(name))
}

// maxArguments bounds what is read of a process's arguments, of which there may be megabytes.
const maxArguments = 4 << 10

// arguments returns a process's arguments, "" during an exec.
func arguments(pid int) string {
	file, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxArguments)
	n, _ := file.Read(text)
	return printable(bytes.ReplaceAll(text[:n], []byte{0}, []byte{' '}))
}

func printable(text []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD")
}

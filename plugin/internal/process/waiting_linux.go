package process

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// mostWaiting is how many processes Waiting looks at, and how many files of one call.
const mostWaiting = 64

// lookTime bounds how long a call looks for what a command waits for: a command can have
// thousands of sockets.
const lookTime = 20 * time.Millisecond

// Waiting says what the group waits for, "" if it is busy or that is unknown: see
// shared.Result.Waiting. stdin is the name in /proc of the input that a caller can
// write to, as in "pipe:[123]"; "": there is none. It looks at the system calls in which
// the main threads of the members are blocked. A command can make such a look take for ever
// (userfaultfd). Then Waiting returns "" until that look has ended.
func (g *Group) Waiting(stdin string) (what string) {
	if !g.looking.CompareAndSwap(false, true) {
		return ""
	}
	found := make(chan string, 1)
	go func() {
		defer g.looking.Store(false)
		found <- g.waiting(stdin, time.Now().Add(lookTime))
	}()
	select {
	case what = <-found:
		return what
	case <-time.After(2 * lookTime): // a look may notice a little late that its time is over
		return ""
	}
}

// waiting is Waiting on its goroutine.
func (g *Group) waiting(stdin string, deadline time.Time) (what string) {
	members := g.members()
	if len(members) > mostWaiting {
		return ""
	}
	for _, p := range members {
		reason := waitingOf(p, stdin, deadline)
		if time.Now().After(deadline) {
			return ""
		}
		if reason == relay {
			reason = relayed(p, members)
		}
		switch reason {
		case "input":
			return reason
		case "child":
			if p.pid == g.PID && what == "" {
				what = reason
			}
		case "":
		default:
			what = reason
		}
	}
	return what
}

// relay stands for a process that waits for the input and for something else as well, such
// as script: nobody can tell which of the two comes first.
const relay = "relay"

// relayed says what a relay waits for.
func relayed(p info, members []info) string {
	if slices.ContainsFunc(members, func(child info) bool { return child.ppid == p.pid }) {
		return "child"
	}
	return ""
}

// waitingOf says what a process waits for.
func waitingOf(p info, stdin string, deadline time.Time) string {
	if p.halted {
		return ""
	}
	c, ok := blockedIn(p.pid)
	if !ok {
		return ""
	}
	switch {
	case c.waitsForChild():
		return "child"
	case c.waitsForLock():
		name := link(p.pid, c.descriptor())
		if name == "" {
			return ""
		}
		return "lock " + inOneLine(name)
	}
	fds, forever := c.files(p.pid)
	if !forever { // its program has something else to do
		stdin = ""
	}
	return ofFiles(p.pid, fds, stdin, deadline)
}

// link returns the name of an open file of a process, "" if that is unknown.
func link(pid, fd int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return name
}

// inOneLine quotes a name that a command has chosen to break a line or a terminal.
func inOneLine(name string) string {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.ContainsFunc(name, isOdd) || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}

// ofFiles says what a system call waits for that returns when any of these files is ready.
func ofFiles(pid int, fds []int, stdin string, deadline time.Time) string {
	inputs := 0
	var addresses []string
	for _, fd := range fds {
		name := link(pid, fd)
		if isInput(name, stdin) {
			inputs++
		}
		inode, isSocket := strings.CutPrefix(name, "socket:[")
		if isSocket {
			addresses = append(addresses, remote(pid, strings.TrimSuffix(inode, "]"), deadline))
		}
	}
	if inputs > 0 && inputs < len(fds) {
		return relay
	}
	if inputs > 0 {
		return "input"
	}
	addresses = slices.Compact(addresses)
	if len(addresses) == 1 && addresses[0] != "" {
		return "network " + addresses[0]
	}
	return ""
}

// isInput reports whether a file is stdin, by its own name or, if stdin is a terminal, as
// /dev/tty.
func isInput(name, stdin string) bool {
	if stdin == "" {
		return false
	}
	return name == stdin || name == "/dev/tty" && strings.HasPrefix(stdin, "/dev/")
}

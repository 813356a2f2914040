package process

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// mostWaiting is how many processes Waiting looks at, and how many files of one call.
const mostWaiting = 64

// lookTime bounds how long a call looks for what a command waits for: a command can have
// thousands of sockets.
const lookTime = 20 * time.Millisecond

// Waiting says what the group waits for, "" if it is busy or unknown: see
// shared.Result.Waiting. stdin is the name in /proc of the input that a caller can
// write to, as in "pipe:[123]"; "": there is none. It looks at the system calls in which
// the main threads of the members are blocked. A command can make that take for ever
// (userfaultfd): then the look goes on, and until it ends nothing is known.
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
	case <-time.After(2 * lookTime): // some calls look at the time late
		return ""
	}
}

func (g *Group) waiting(stdin string, late time.Time) (what string) {
	members := g.members()
	if len(members) > mostWaiting {
		return ""
	}
	for _, p := range members {
		of := waitingOf(p, stdin, late)
		if time.Now().After(late) {
			return ""
		}
		if of == relay {
			of = relayed(p, members)
		}
		switch of {
		case "input":
			return of
		case "child":
			if p.pid == g.PID && what == "" {
				what = of
			}
		case "":
		default:
			what = of
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

// oldCalls are poll and select, which not every architecture has.
var oldCalls = map[string][2]int64{"amd64": {7, 23}, "arm64": {-1, -1}}

func waitingOf(p info, stdin string, late time.Time) string {
	if p.halted {
		return ""
	}
	pid := p.pid
	text, _ := readProc("%d/syscall", pid) // only an ancestor of the same user may read it
	fields := strings.Fields(string(text))
	old, known := oldCalls[runtime.GOARCH]
	if len(fields) < 7 || !known { // it runs
		return ""
	}
	number, _ := strconv.ParseInt(fields[0], 10, 64)
	var args [6]uint64
	for i := range args {
		args[i], _ = strconv.ParseUint(fields[i+1], 0, 64)
	}
	fds, forever := []int{int(args[0])}, true
	switch number {
	case unix.SYS_WAIT4, unix.SYS_WAITID:
		return "child"
	case unix.SYS_FLOCK, unix.SYS_FCNTL:
		waits := number == unix.SYS_FLOCK || args[1] == unix.F_SETLKW || args[1] == unix.F_OFD_SETLKW
		name := link(pid, fds[0])
		if !waits || name == "" {
			return ""
		}
		return "lock " + inOneLine(name)
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_CONNECT:
	case old[0]:
		fds, forever = polled(pid, args[0], args[1]), int32(args[2]) < 0
	case unix.SYS_PPOLL:
		fds, forever = polled(pid, args[0], args[1]), args[2] == 0
	case old[1], unix.SYS_PSELECT6:
		fds, forever = selected(pid, args[1], args[0]), args[4] == 0
	default:
		return ""
	}
	if !forever { // its program has something else to do
		stdin = ""
	}
	return ofFiles(pid, fds, stdin, late)
}

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
func ofFiles(pid int, fds []int, stdin string, late time.Time) string {
	inputs := 0
	var addresses []string
	for _, fd := range fds {
		name := link(pid, fd)
		if stdin != "" && (name == stdin || name == "/dev/tty" && strings.HasPrefix(stdin, "/dev/")) {
			inputs++
		}
		if inode, is := strings.CutPrefix(name, "socket:["); is {
			addresses = append(addresses, remote(pid, strings.TrimSuffix(inode, "]"), late))
		}
	}
	if inputs > 0 && inputs < len(fds) {
		return relay
	}
	if inputs > 0 {
		return "input"
	}
	if addresses = slices.Compact(addresses); len(addresses) == 1 && addresses[0] != "" {
		return "network " + addresses[0]
	}
	return ""
}

// remote returns the other end of a socket, "" if it has none with an address, or if it is
// not found until late.
func remote(pid int, inode string, late time.Time) string {
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		if time.Now().After(late) {
			return ""
		}
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, protocol))
		if err != nil {
			continue
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		for lines.Scan() && time.Now().Before(late) {
			fields := strings.Fields(lines.Text())
			if len(fields) >= 10 && fields[9] == inode {
				return address(fields[2])
			}
		}
	}
	return ""
}

// address reads an address as /proc has it, "" if it is no other end's.
func address(text string) string {
	var ip []byte
	var port uint16
	_, _ = fmt.Sscanf(text, "%x:%x", &ip, &port)
	for word := range slices.Chunk(ip, 4) { // each in the order of the machine
		slices.Reverse(word)
	}
	address, ok := netip.AddrFromSlice(ip)
	if !ok || port == 0 {
		return ""
	}
	return netip.AddrPortFrom(address.Unmap(), port).String()
}

// polled returns the files of a poll.
func polled(pid int, address, count uint64) (fds []int) {
	for p := range slices.Chunk(memory(pid, address, 8*min(count, mostWaiting)), 8) { // struct pollfd
		if fd := int(int32(binary.NativeEndian.Uint32(p))); fd >= 0 { // poll leaves the others out
			fds = append(fds, fd)
		}
	}
	return fds
}

// selected returns the files that a select reads.
func selected(pid int, address, count uint64) (fds []int) {
	for i, bits := range memory(pid, address, (min(count, 1024)+63)/64*8) {
		for bit := range 8 {
			if bits&(1<<bit) != 0 && len(fds) < mostWaiting {
				fds = append(fds, 8*i+bit)
			}
		}
	}
	return fds
}

// memory returns size bytes of a process's memory, none if they cannot be read.
func memory(pid int, address, size uint64) []byte {
	if address == 0 || size == 0 {
		return nil
	}
	text := make([]byte, size)
	n, _ := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &text[0], Len: size}}, []unix.RemoteIovec{{Base: uintptr(address), Len: int(size)}}, 0)
	return text[:max(0, n)/8*8]
}

package process

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// systemCall is a system call in which a thread is blocked.
type systemCall struct {
	number int64
	args   [6]uint64
}

// oldCalls are the numbers of poll and select, which not every architecture has.
type oldCalls struct{ pollCall, selectCall int64 }

// oldCallsOf has the architectures for which blockedIn works, by their name in Go.
var oldCallsOf = map[string]oldCalls{
	"amd64": {pollCall: 7, selectCall: 23},
	"arm64": {pollCall: -1, selectCall: -1},
}

// blockedIn returns the system call in which the main thread of a process is blocked. It
// returns false if the thread runs, or if this process may not know: the kernel tells an
// ancestor of the same user alone.
func blockedIn(pid int) (c systemCall, ok bool) {
	text, _ := readProc("%d/syscall", pid)
	fields := strings.Fields(string(text))
	_, known := oldCallsOf[runtime.GOARCH]
	if len(fields) < 7 || !known {
		return c, false
	}
	c.number, _ = strconv.ParseInt(fields[0], 10, 64)
	for i := range c.args {
		c.args[i], _ = strconv.ParseUint(fields[i+1], 0, 64)
	}
	return c, true
}

// descriptor returns the first argument.
func (c systemCall) descriptor() int { return int(c.args[0]) }

func (c systemCall) waitsForChild() bool {
	return c.number == unix.SYS_WAIT4 || c.number == unix.SYS_WAITID
}

func (c systemCall) waitsForLock() bool {
	if c.number == unix.SYS_FCNTL {
		return c.args[1] == unix.F_SETLKW || c.args[1] == unix.F_OFD_SETLKW
	}
	return c.number == unix.SYS_FLOCK
}

// files returns the files for which the call of a process waits, and whether it waits for
// them without a limit of time.
func (c systemCall) files(pid int) (fds []int, forever bool) {
	old := oldCallsOf[runtime.GOARCH]
	switch c.number {
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_CONNECT:
		return []int{c.descriptor()}, true
	case old.pollCall:
		return polled(pid, c.args[0], c.args[1]), int32(c.args[2]) < 0
	case unix.SYS_PPOLL:
		return polled(pid, c.args[0], c.args[1]), c.args[2] == 0
	case old.selectCall, unix.SYS_PSELECT6:
		return selected(pid, c.args[1], c.args[0]), c.args[4] == 0
	}
	return nil, false
}

// polled returns the files of a poll.
func polled(pid int, address, count uint64) (fds []int) {
	const size = 8 // of struct pollfd
	for file := range slices.Chunk(readMemory(pid, address, size*min(count, mostWaiting)), size) {
		fd := int(int32(binary.NativeEndian.Uint32(file)))
		if fd >= 0 { // poll leaves the others out
			fds = append(fds, fd)
		}
	}
	return fds
}

// selected returns the files that a select reads.
func selected(pid int, address, count uint64) (fds []int) {
	for i, bits := range readMemory(pid, address, (min(count, 1024)+63)/64*8) {
		for bit := range 8 {
			if bits&(1<<bit) != 0 && len(fds) < mostWaiting {
				fds = append(fds, 8*i+bit)
			}
		}
	}
	return fds
}

// readMemory returns up to size bytes of a process's memory, as many eights as can be read.
func readMemory(pid int, address, size uint64) []byte {
	if address == 0 || size == 0 {
		return nil
	}
	text := make([]byte, size)
	local := []unix.Iovec{{Base: &text[0], Len: size}}
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: int(size)}}
	n, _ := unix.ProcessVMReadv(pid, local, remote, 0)
	return text[:max(0, n)/8*8]
}

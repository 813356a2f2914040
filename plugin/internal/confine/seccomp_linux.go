package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are those with a filter, by the kernel's number for their system calls.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// noNetwork lets this thread make unix sockets only. io_uring, which makes others
// without a system call, seems not to exist. System calls of other architectures
// (32-bit ones, by int 0x80, and x32), which have other numbers, are refused.
func noNetwork() error {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // from struct seccomp_data: number, architecture, …, first argument
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
		refuse = unix.SECCOMP_RET_ERRNO
		x32    = 0x40000000
	)
	filter := []unix.SockFilter{ // Jt and Jf: how many instructions to skip if it is so, and if not
		{Code: load, K: 4},
		{Code: equal, K: architectures[runtime.GOARCH], Jf: 7},
		{Code: load, K: 0},
		{Code: above, K: x32, Jt: 5},
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 5},
		{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
		{Code: equal, K: unix.SYS_SOCKETPAIR, Jf: 5},
		{Code: load, K: 16},
		{Code: equal, K: unix.AF_UNIX, Jt: 3, Jf: 2},
		{Code: answer, K: refuse | uint32(unix.EPERM)},
		{Code: answer, K: refuse | uint32(unix.ENOSYS)},
		{Code: answer, K: refuse | uint32(unix.EACCES)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return failure(unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))))
}

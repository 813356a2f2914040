package confine

import (
	"maps"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the numbers of the system calls that a filter looks at.
type calls struct {
	architecture uint32 // the kernel's number for it
	prlimit      uint32
	setrlimit    uint32
	kill         uint32

	// foreign are the calls by which a process reaches what other processes of its user have,
	// and which no file stands for.
	foreign map[string]uint32
}

// machine is an architecture: its own calls, and those of 32-bit programs.
type machine struct{ native, compat calls }

// machines are the architectures that have a filter, by their name in Go.
var machines = map[string]machine{
	"amd64": {
		native: calls{
			architecture: unix.AUDIT_ARCH_X86_64,
			prlimit:      302,
			setrlimit:    160,
			kill:         62,
			foreign: map[string]uint32{
				"shmget": 29, "shmat": 30, "shmctl": 31,
				"semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220,
				"msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71,
				"mq_open": 240, "mq_unlink": 241,
				"add_key": 248, "request_key": 249, "keyctl": 250,
			},
		},
		compat: calls{
			architecture: unix.AUDIT_ARCH_I386,
			prlimit:      340,
			setrlimit:    75,
			kill:         37,
			foreign: map[string]uint32{
				"ipc": 117, "shmget": 395, "shmat": 397, "shmctl": 396,
				"semget": 393, "semctl": 394, "semtimedop_time64": 420,
				"msgget": 399, "msgsnd": 400, "msgrcv": 401, "msgctl": 402,
				"mq_open": 277, "mq_unlink": 278,
				"add_key": 286, "request_key": 287, "keyctl": 288,
			},
		},
	},
	"arm64": {
		native: calls{
			architecture: unix.AUDIT_ARCH_AARCH64,
			prlimit:      261,
			setrlimit:    164,
			kill:         129,
			foreign: map[string]uint32{
				"shmget": 194, "shmat": 196, "shmctl": 195,
				"semget": 190, "semop": 193, "semctl": 191, "semtimedop": 192,
				"msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187,
				"mq_open": 180, "mq_unlink": 181,
				"add_key": 217, "request_key": 218, "keyctl": 219,
			},
		},
		compat: calls{
			architecture: unix.AUDIT_ARCH_ARM,
			prlimit:      369,
			setrlimit:    75,
			kill:         37,
			foreign: map[string]uint32{
				"ipc": 117, "shmget": 307, "shmat": 305, "shmctl": 308,
				"semget": 299, "semop": 298, "semctl": 300, "semtimedop": 312, "semtimedop_time64": 420,
				"msgget": 303, "msgsnd": 301, "msgrcv": 302, "msgctl": 304,
				"mq_open": 274, "mq_unlink": 275,
				"add_key": 309, "request_key": 310, "keyctl": 311,
			},
		},
	},
}

// aims are what a filter does besides keeping a command from changing its tag, which is
// RLIMIT_LOCKS.
type aims struct {
	// confined keeps the command from limiting other processes, which can kill them, and from
	// System V IPC, POSIX message queues and the kernel's keys.
	confined bool

	// noNetwork lets the command make unix sockets only, and run no 32-bit programs.
	noNetwork bool

	// listened lets a Listener decide about the command's calls of kill(2).
	listened bool
}

// filter returns the program that reaches these aims on a machine. As a thread installs it, the
// kernel tries it for every system call that exists. So it must be short.
func filter(m machine, a aims) []unix.SockFilter {
	const x32 = 0x40000000 // from this number on the calls of x86-64 come again
	native := slices.Concat(load(number), when(atLeast, x32, refuse(unix.EPERM)), m.native.rules(a))
	if a.noNetwork {
		native = slices.Concat(
			native,
			onCall(onlyUnixSockets(), unix.SYS_SOCKET, unix.SYS_SOCKETPAIR),
			onCall(refuse(unix.ENOSYS), unix.SYS_IO_URING_SETUP), // it makes sockets without a system call
		)
	}
	program := slices.Concat(load(architecture), when(equal, m.native.architecture, append(native, allow)))
	if !a.noNetwork {
		compat := slices.Concat(load(number), m.compat.rules(a), []unix.SockFilter{allow})
		program = append(program, when(equal, m.compat.architecture, compat)...)
	}
	return append(program, refuse(unix.EPERM)...)
}

// rules returns the part of a program that native and 32-bit calls have in common. It needs the
// number of the call loaded.
func (c calls) rules(a aims) []unix.SockFilter {
	ofSetrlimit := slices.Concat(load(argument(0)), when(equal, unix.RLIMIT_LOCKS, refuse(unix.EPERM)))
	ofPrlimit := slices.Concat(load(argument(1)), when(equal, unix.RLIMIT_LOCKS, refuse(unix.EPERM)))
	if a.confined {
		itself := uint32(0)
		ofPrlimit = slices.Concat(ofPrlimit, load(argument(0)), unless(equal, itself, refuse(unix.EPERM)))
	}
	program := slices.Concat(onCall(ofSetrlimit, c.setrlimit), onCall(whenSet(2, ofPrlimit), c.prlimit))
	if a.confined {
		program = append(program, onCall(refuse(unix.ENOSYS), slices.Sorted(maps.Values(c.foreign))...)...)
	}
	if a.listened {
		program = append(program, onCall(ask, c.kill)...)
	}
	return program
}

func onlyUnixSockets() []unix.SockFilter {
	return slices.Concat(load(argument(0)), unless(equal, unix.AF_UNIX, refuse(unix.EACCES)))
}

// Offsets in the kernel's struct seccomp_data.
const (
	number       = 0
	architecture = 4
)

// argument is the offset of the lower half of an argument, which is all that the kernel takes
// of a pid, a resource and a family of sockets. The upper half follows.
func argument(i uint32) uint32 { return 16 + 8*i }

// The conditions of jumps.
const (
	equal   = unix.BPF_JEQ
	atLeast = unix.BPF_JGE
)

var allow = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}

// ask leaves a call to the Listener.
var ask = []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}}

func refuse(errno unix.Errno) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}}
}

// load loads a part of the call, which the next condition looks at.
func load(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// when runs body if a condition holds.
func when(condition uint16, value uint32, body []unix.SockFilter) []unix.SockFilter {
	jump := unix.SockFilter{Code: unix.BPF_JMP | condition | unix.BPF_K, K: value, Jf: uint8(len(body))}
	return append([]unix.SockFilter{jump}, body...)
}

// unless runs body if a condition does not hold.
func unless(condition uint16, value uint32, body []unix.SockFilter) []unix.SockFilter {
	jump := unix.SockFilter{Code: unix.BPF_JMP | condition | unix.BPF_K, K: value, Jt: uint8(len(body))}
	return append([]unix.SockFilter{jump}, body...)
}

// onCall runs body for some system calls, and allows them unless body refuses them. It needs the
// number of the call loaded, and leaves it loaded for all other calls.
func onCall(body []unix.SockFilter, calls ...uint32) (program []unix.SockFilter) {
	body = append(slices.Clone(body), allow)
	last := len(calls) - 1
	for i, call := range calls[:last] {
		toBody := uint8(last - i)
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | equal | unix.BPF_K, K: call, Jt: toBody})
	}
	return append(program, when(equal, calls[last], body)...)
}

// whenSet runs body if an argument, which is a pointer, is not nil.
func whenSet(i uint32, body []unix.SockFilter) []unix.SockFilter {
	unlessUpperIsNil := slices.Concat(load(argument(i)+4), unless(equal, 0, body))
	// If the lower half is not 0, body comes at once.
	skip := unix.SockFilter{Code: unix.BPF_JMP | equal | unix.BPF_K, K: 0, Jf: uint8(len(unlessUpperIsNil) - len(body))}
	return slices.Concat(load(argument(i)), []unix.SockFilter{skip}, unlessUpperIsNil)
}

// seccomp makes the kernel run a program at each system call of this thread. With the flag
// for a listener it returns the listener's descriptor.
func seccomp(program []unix.SockFilter, flags uintptr) (descriptor int, err error) {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	return int(fd), failure(fd, 0, errno)
}

package confine

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listener receives the system calls of one command about which its filter asks. Each of
// them waits for an answer (seccomp_unotify(2)). A nil Listener receives none.
//
// From Add on, the mu of Listeners guards its fields.
type Listener struct {
	descriptor int // -1: it is closed
	kill       Kill
}

// Listeners answer the calls of a session's commands, one after the other, and in turns: many
// calls of one command hold up another's for as long as it takes to answer one. It is safe for
// concurrent use.
type Listeners struct {
	epoll int           // of the listeners
	ready *os.File      // the same, for Go's poller
	done  chan struct{} // closed when serve has ended

	mu  sync.Mutex // held while a call is answered
	all map[int]*Listener
}

// call is a system call that waits: the kernel's struct seccomp_notif.
type call struct {
	id uint64

	// thread makes the call, as this process numbers it; 0: it is in a namespace out of sight.
	thread uint32

	_            uint32
	number       int32
	architecture uint32
	_            uint64 // the address of the instruction
	arguments    [6]uint64
}

// answer is the kernel's struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// listen installs a program, and returns the listener for the calls about which it asks. It
// fails on a kernel before 5.19, and below a process that has a listener already. Then nothing
// is installed.
func listen(program []unix.SockFilter) (*Listener, error) {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	descriptor, err := seccomp(program, flags)
	if err != nil {
		return nil, err
	}
	return &Listener{descriptor: descriptor}, nil
}

// NewListeners returns Listeners without any, which the caller must Close.
func NewListeners() (*Listeners, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	_ = unix.SetNonblock(epoll, true) // so that Go's poller waits for it
	ls := &Listeners{
		epoll: epoll,
		ready: os.NewFile(uintptr(epoll), "listeners"),
		done:  make(chan struct{}),
		all:   make(map[int]*Listener),
	}
	go ls.serve()
	return ls, nil
}

// Close closes all listeners. ls may be nil, for commands without listeners.
func (ls *Listeners) Close() {
	if ls == nil {
		return
	}
	ls.ready.Close()
	<-ls.done
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		ls.closeLocked(l)
	}
}

// Add begins to answer the calls of a listener.
func (ls *Listeners) Add(l *Listener, kill Kill) {
	if l == nil {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.kill = kill
	ls.all[l.descriptor] = l
	err := ls.watch(l.descriptor, unix.EPOLL_CTL_ADD)
	if err != nil {
		ls.closeLocked(l)
	}
}

// Remove closes a listener, which need not have been added. From then on the command's calls
// fail.
func (ls *Listeners) Remove(l *Listener) {
	if l == nil {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closeLocked(l)
}

func (ls *Listeners) closeLocked(l *Listener) {
	delete(ls.all, l.descriptor)
	unix.Close(l.descriptor)
	l.descriptor = -1
}

// watch makes the epoll report a listener once, when a call waits.
func (ls *Listeners) watch(descriptor, operation int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(descriptor)}
	return unix.EpollCtl(ls.epoll, operation, descriptor, &event)
}

// serve answers calls until Close.
func (ls *Listeners) serve() {
	defer close(ls.done)
	conn, err := ls.ready.SyscallConn()
	for err == nil {
		err = conn.Read(func(uintptr) bool { return ls.answerSome() })
	}
}

// answerSome answers one call of each of some listeners that have one. It returns false if none
// has.
func (ls *Listeners) answerSome() bool {
	var events [16]unix.EpollEvent
	n, _ := unix.EpollWait(ls.epoll, events[:], 0)
	for _, event := range events[:max(0, n)] {
		ls.answerNext(int(event.Fd))
	}
	return n != 0
}

// answerNext answers one call of a listener, if one waits.
func (ls *Listeners) answerNext(descriptor int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.all[descriptor]
	if l == nil || !l.hasCall() { // it was closed, or another has its number now
		return
	}
	l.answerCall()
	_ = ls.watch(descriptor, unix.EPOLL_CTL_MOD) // its next call comes after those of others
}

// answerCall answers a call that waits. Its thread may end meanwhile: then the call is gone.
func (l *Listener) answerCall() {
	var c call
	err := l.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&c))
	if err != nil {
		return
	}
	a := answer{id: c.id}
	errno, decided := l.decide(&c)
	if decided {
		a.errno = -int32(errno)
	} else {
		a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	_ = l.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
}

// decide returns the error of a call, 0 for success. It returns false if the kernel is to
// decide.
func (l *Listener) decide(c *call) (errno syscall.Errno, decided bool) {
	numbers := machines[runtime.GOARCH].native
	if c.architecture != numbers.architecture {
		numbers = machines[runtime.GOARCH].compat
	}
	if uint32(c.number) != numbers.kill {
		return 0, false
	}
	waits := func() bool {
		err := l.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&c.id))
		return err == nil
	}
	pid := int(int32(c.arguments[0]))
	sig := syscall.Signal(int32(c.arguments[1]))
	return l.kill(int(c.thread), waits, pid, sig)
}

// hasCall reports whether a call waits. If none does, NOTIF_RECV would wait for one.
func (l *Listener) hasCall() bool {
	state := []unix.PollFd{{Fd: int32(l.descriptor), Events: unix.POLLIN}}
	for {
		_, _ = unix.Poll(state, 0)
		if state[0].Revents&unix.POLLERR == 0 { // otherwise a signal has interrupted it
			return state[0].Revents&unix.POLLIN != 0
		}
	}
}

// control calls ioctl(2) until no signal interrupts it.
func (l *Listener) control(request uintptr, argument unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.descriptor), request, uintptr(argument))
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}

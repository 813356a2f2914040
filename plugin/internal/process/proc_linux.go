package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Flags of a thread in /proc/PID/stat.
const (
	flagExiting = 0x4  // PF_EXITING
	flagForked  = 0x40 // PF_FORKNOEXEC: forked, and not called exec since
)

// clockTick is the unit of times in /proc, on every architecture.
const clockTick = 10 * time.Millisecond

// readProc reads a file of /proc. It is os.ReadFile with half of the system calls:
// some files are read several times for each command.
func readProc(format string, args ...any) ([]byte, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/"+format, args...), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 2048)
	for {
		text = slices.Grow(text, 1024)
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if n <= 0 {
			return text, err
		}
		text = text[:len(text)+n]
	}
}

// stat reads one process.
func stat(pid int) (info, error) {
	text, err := readProc("%d/stat", pid)
	if err != nil {
		return info{}, err
	}
	// The fields from the third on. They begin after the last parenthesis: the
	// command name before it may contain anything, even a parenthesis.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return info{}, errors.New("unknown format of /proc/PID/stat")
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(fields[i], 10, 64)
		return n
	}
	state := fields[0]
	flags := number(6)
	alone := number(17) <= 1 // otherwise other threads may go on when the first one ends
	return info{
		pid:    pid,
		ppid:   int(number(1)),
		pgrp:   int(number(2)),
		start:  number(19),
		dead:   alone && (state == "Z" || state == "X"),
		ending: alone && flags&flagExiting != 0,
		forked: flags&flagForked != 0 && (state == "R" || state == "D"),
		runs:   state == "R",
		hangs:  state == "D",
		halted: state == "T" || state == "t",
		single: alone,
		rss:    int64(number(21)) * int64(os.Getpagesize()),
		cpu:    time.Duration(number(11)+number(12)+number(13)+number(14)) * clockTick,
	}, nil
}

// pids lists the numbers of all processes.
func pids() []int { return numbers(namesIn("/proc")) }

func namesIn(path string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return names
}

// numbers returns the texts that are numbers, parsed.
func numbers(texts []string) []int {
	var ns []int
	for _, text := range texts {
		if n, err := strconv.Atoi(text); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

// family returns a function that lists the children of a process, of all its threads.
// The number of other processes on the machine does not slow it down.
func family() func(parent info) []info {
	return func(parent info) []info {
		var children []info
		threads := []string{strconv.Itoa(parent.pid)}
		if !parent.single {
			threads = namesIn(fmt.Sprintf("/proc/%d/task", parent.pid))
		}
		for _, thread := range threads {
			for _, child := range childrenOfThread(parent.pid, thread) {
				if p, err := stat(child); err == nil && p.ppid == parent.pid { // otherwise its pid was reused, or it is an orphan now
					children = append(children, p)
				}
			}
		}
		return children
	}
}

// adopted lists the children of this process's main thread, to which the kernel gives all
// orphans, and of the thread that forks commands.
func adopted(forker int) []int {
	pid := os.Getpid()
	orphans := childrenOfThread(pid, strconv.Itoa(pid))
	return append(orphans, childrenOfThread(pid, strconv.Itoa(forker))...)
}

func threadID() int { return unix.Gettid() }

func childrenOfThread(pid int, thread string) []int {
	text, _ := readProc("%d/task/%s/children", pid, thread)
	return numbers(strings.Fields(string(text)))
}

// isPassing reports whether a process is ending, is between its fork and the end
// of its exec, or reads from a pipe.
func isPassing(p info) bool {
	stdin, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", p.pid))
	return p.ending || p.forked || strings.HasPrefix(stdin, "pipe:") || arguments(p.pid) == ""
}

// execTime bounds how long a list of processes waits for the arguments of those that are in
// their exec.
const execTime = 10 * time.Millisecond

// commandLine returns a process's arguments, its name if it has none, and "" if it has
// ended. It waits until late for the arguments of an exec under way.
func commandLine(pid int, late time.Time) string {
	name, _ := readProc("%d/comm", pid)
	text := arguments(pid)
	for text == "" && len(name) > 0 && time.Now().Before(late) {
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

// checkProc returns an error if /proc does not show this process's namespace.
func checkProc() error {
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return fmt.Errorf("processes cannot be found without /proc: %w", err)
	case self != strconv.Itoa(os.Getpid()):
		return errors.New("/proc shows another PID namespace than that of this process: mount its own (unshare --mount-proc)")
	}
	return nil
}

// isTracedByThis reports whether a thread of this process traces a process.
func isTracedByThis(pid int) bool {
	text, _ := readProc("%d/status", pid)
	_, rest, _ := bytes.Cut(text, []byte("\nTracerPid:"))
	var tracer int
	_, _ = fmt.Sscan(string(rest), &tracer)
	_, err := os.Lstat(fmt.Sprintf("/proc/self/task/%d", tracer))
	return err == nil
}

// pss returns the memory of a process, and its part of what several processes share.
func pss(p info) int64 {
	text, _ := readProc("%d/smaps_rollup", p.pid)
	_, rest, _ := bytes.Cut(text, []byte("\nPss:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 { // another user's: the kernel does not tell
		return p.rss
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

// threadsOfAll returns how many threads there are on the machine.
func threadsOfAll() int {
	var now unix.Sysinfo_t
	_ = unix.Sysinfo(&now)
	return int(now.Procs)
}

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of start times in /proc, fixed at 100 Hz for programs.
const clockTick = 1e9 / 100

// clock returns the time as /proc gives a process's start.
func clock() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return uint64(now.Nano()) / clockTick
}

const exiting = 0x4 // among the flags of a thread: the kernel's PF_EXITING

var errStat = errors.New("unknown format of /proc/PID/stat")

// statFields reads the fields of /proc/PID/stat from the third on, which is
// fields[0]. A command name may hold anything, a parenthesis too: they begin
// behind the last one.
func statFields(pid int) (fields []string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(text, ')')
	if fields = strings.Fields(string(text[end+1:])); end < 0 || len(fields) < 49 {
		return nil, errStat
	}
	return fields, nil
}

// isExiting reports whether a process's first thread has begun to exit.
func isExiting(fields []string) bool {
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&exiting != 0
}

// stat reads one process.
func stat(pid int) (info, error) {
	fields, err := statFields(pid)
	if err != nil {
		return info{}, err
	}
	ended := fields[0] == "Z" || fields[0] == "X" // its first thread; others may go on
	alone := fields[17] == "0" || fields[17] == "1"
	p := info{pid: pid, dead: ended && alone, ending: isExiting(fields) && alone, running: fields[0] == "R", blocked: fields[0] == "D"}
	for i, field := range []*int{&p.ppid, &p.pgrp, &p.session} {
		if *field, err = strconv.Atoi(fields[1+i]); err != nil {
			return info{}, errStat
		}
	}
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// pids lists the numbers of all processes.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// listRounds bounds how often list looks for processes that started meanwhile.
const listRounds = 4

// list reads every process there is, and then those that started meanwhile:
// otherwise a process that forks and ends faster than this is never seen.
func list() map[int]info {
	all := make(map[int]info)
	for range listRounds {
		before := len(all)
		for _, pid := range pids() {
			if _, seen := all[pid]; seen {
				continue
			}
			if p, err := stat(pid); err == nil {
				all[pid] = p
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

// listBelow reads the given processes and all that descend from them, which
// takes no longer on a machine with many others.
func listBelow(roots []int) map[int]info {
	all := make(map[int]info)
	for len(roots) > 0 {
		pid := roots[len(roots)-1]
		roots = roots[:len(roots)-1]
		if _, seen := all[pid]; seen {
			continue
		}
		if p, err := stat(pid); err == nil {
			all[pid] = p
			roots = append(roots, children(pid)...)
		}
	}
	return all
}

// tellsChildren reports whether the kernel has the files that children reads.
func tellsChildren() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
}

// children lists the children of a process, those of all its threads.
func children(pid int) []int {
	var pids []int
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		pids = append(pids, numbers(string(text))...)
	}
	return pids
}

// numbers reads the numbers of a line.
func numbers(line string) []int {
	var pids []int
	for field := range strings.FieldsSeq(line) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// adopted lists the children of this process that it may have adopted: the
// kernel gives them to its main thread.
func adopted() []int {
	pid := os.Getpid()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", pid))
	if err == nil {
		return numbers(string(text))
	}
	var pids []int // a kernel without that file
	for child, p := range list() {
		if p.ppid == pid {
			pids = append(pids, child)
		}
	}
	return pids
}

// environment waits up to execPatience for the end of an exec, which may have
// to read a program from a disk, and looks each execLook.
const (
	execPatience = time.Second
	execLook     = 50 * time.Microsecond
)

// environment returns a variable of a process's environment as it was at its
// start, "" where there is none or it may not be read.
func environment(pid int, name string) string {
	var text []byte
	for deadline := time.Now().Add(execPatience); ; time.Sleep(execLook) {
		empty := hasNoEnvironment(pid)
		var err error
		if text, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); len(text) > 0 || err != nil || empty || time.Now().After(deadline) {
			break
		}
	}
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// hasNoEnvironment reports whether a process was given none, or has ended. That
// of one amid an exec is not known yet.
func hasNoEnvironment(pid int) bool {
	fields, err := statFields(pid)
	if err != nil || hasEnded(pid) || isExiting(fields) {
		return true
	}
	start, end := fields[47], fields[48]
	return start == end && end != "0"
}

// arguments returns a process's arguments, "" where it has none, as amid an
// exec.
func arguments(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return lineOf(strings.ReplaceAll(string(text), "\x00", " "))
}

// name returns the name of a process's program.
func name(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD")
}

// pipeOf returns the number of a pipe, 0 where the file is none.
func pipeOf(f *os.File) uint64 {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return 0
	}
	return stat.Ino
}

// openPipes lists the numbers of the pipes that a process has open.
func openPipes(pid int) []uint64 {
	var pipes []uint64
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, file := range files {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, file.Name()))
		if number, ok := strings.CutPrefix(target, "pipe:["); ok {
			if n, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
				pipes = append(pipes, n)
			}
		}
	}
	return pipes
}

// readsPipe reports whether a process's stdin is, or may have been, a pipe: one
// that is about to end has closed it.
func readsPipe(pid int) bool {
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	return strings.HasPrefix(file, "pipe:") || errors.Is(err, os.ErrNotExist)
}

// worked returns how long a process has had a processor.
func worked(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseInt(first, 10, 64)
	return time.Duration(n)
}

// handles reports whether a process blocks, ignores or catches a signal: one that
// blocks it may wait for it, and exit as it likes.
func handles(pid int, sig syscall.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigBlk" && name != "SigIgn" && name != "SigCgt" {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err != nil || set>>(sig-1)&1 == 1 {
			return true
		}
	}
	return false
}

func becomeSubreaper() bool {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// checkProc says why processes cannot be found here.
func checkProc() error {
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return fmt.Errorf("processes cannot be found without /proc: %w", err)
	case self != strconv.Itoa(os.Getpid()):
		return errors.New("/proc is of another PID namespace than this process: mount one of its own (unshare --mount-proc)")
	}
	return nil
}

package process

import (
	"bytes"
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
		n, readErr := unix.Read(fd, text[len(text):cap(text)])
		if n <= 0 {
			return text, readErr
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
	// These are the fields from the third on. They begin after the last parenthesis: the
	// command's name before it may contain anything, even a parenthesis.
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

// namesIn lists a directory, without an order.
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
		n, err := strconv.Atoi(text)
		if err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

// checkProc returns an error if /proc does not show this process's namespace.
func checkProc() error {
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return fmt.Errorf("processes cannot be found without /proc: %w", err)
	case self != strconv.Itoa(os.Getpid()):
		return errors.New("/proc shows another PID namespace than that of this process:" +
			" mount its own (unshare --mount-proc)")
	}
	return nil
}

// pss returns the memory of a process. Of memory that several processes share, it counts a
// part: all of them together count it once.
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

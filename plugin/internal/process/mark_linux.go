package process

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// The mark of a process is its soft limit on file locks. Linux keeps that limit
// for every process and has not enforced it since 2.4: a number there does no
// harm, passes from parent to child, and stays with a process that clears its
// environment, moves to another session and loses its parent.
const (
	markLimit = 10 // RLIMIT_LOCKS
	markLine  = "Max file locks"
)

// marked calls fork while this process carries m, so that the child inherits it. If
// the hard limit is lower than m, there is no mark.
func marked(m mark, fork func()) {
	var old unix.Rlimit
	if unix.Prlimit(0, markLimit, nil, &old) == nil && uint64(m) <= old.Max {
		_ = unix.Prlimit(0, markLimit, &unix.Rlimit{Cur: uint64(m), Max: old.Max}, nil)
		defer func() { _ = unix.Prlimit(0, markLimit, &old, nil) }()
	}
	fork()
}

// markOf returns a process's mark, 0 if it has none.
func markOf(pid int) mark {
	text, _ := readProc("%d/limits", pid)
	_, rest, _ := bytes.Cut(text, []byte(markLine))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	m, _ := strconv.ParseUint(string(fields[0]), 10, 64) // 0 for "unlimited"
	return mark(m)
}

package process

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// The tag of a process is its soft limit on file locks. Linux keeps that limit
// for every process and has not enforced it since 2.4: a number there does no
// harm, passes from parent to child, and stays with a process that clears its
// environment, moves to another session and loses its parent.
const (
	tagLimit = 10 // RLIMIT_LOCKS
	tagLine  = "Max file locks"
)

// tagged calls fork while this process carries a tag, so that the child inherits it. If
// the hard limit is lower than the tag, the child has none.
func tagged(carried tag, fork func()) {
	var old unix.Rlimit
	err := unix.Prlimit(0, tagLimit, nil, &old)
	if err == nil && uint64(carried) <= old.Max {
		_ = unix.Prlimit(0, tagLimit, &unix.Rlimit{Cur: uint64(carried), Max: old.Max}, nil)
		defer func() { _ = unix.Prlimit(0, tagLimit, &old, nil) }()
	}
	fork()
}

// tagOf returns a process's tag, 0 if it has none.
func tagOf(pid int) tag {
	text, _ := readProc("%d/limits", pid)
	_, rest, _ := bytes.Cut(text, []byte(tagLine))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	number, _ := strconv.ParseUint(string(fields[0]), 10, 64) // 0 for "unlimited"
	return tag(number)
}

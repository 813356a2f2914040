package job

import (
	"errors"
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// newTerminal opens a pseudo-terminal where text is typed. It returns the command's end,
// the input to it and its screen.
func newTerminal(columns, rows int, turns Turns, text string) (*os.File, *input, *screen, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	defer ours.Close()
	// Calls on ours block in the system and cannot be ended, because of how the library has opened
	// it: use a copy.
	fd, err := unix.FcntlInt(ours.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	size := &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}
	err = errors.Join(err, pty.Setsize(ours, size), unix.SetNonblock(fd, true))
	if err != nil {
		theirs.Close()
		return nil, nil, nil, fmt.Errorf("cannot set up a terminal: %w", err)
	}
	in := inputTo(os.NewFile(uintptr(fd), "terminal"), true, text)
	answer := func(text string) { _ = in.put(text, false) }
	return theirs, in, newScreen(columns, rows, turns, answer), nil
}

package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole gives a part of a file back to the disk, where the system can.
func punchHole(file *os.File, at, size int64) bool {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size) == nil
}

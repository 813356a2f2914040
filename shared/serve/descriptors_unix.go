//go:build unix

package serve

import (
	"math"

	"golang.org/x/sys/unix"
)

// descriptors returns how many descriptors this process may have.
func descriptors() int {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	if err != nil {
		return math.MaxInt32
	}
	return int(min(limit.Cur, math.MaxInt32))
}

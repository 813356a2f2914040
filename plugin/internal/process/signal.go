package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns a signal's name as bash knows it, "" where there is no
// such signal.
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	switch n := int(sig); {
	case n == firstRealTime && n > 0:
		return "SIGRTMIN"
	case n > firstRealTime && n <= (firstRealTime+lastRealTime)/2:
		return fmt.Sprintf("SIGRTMIN+%d", n-firstRealTime)
	case n > firstRealTime && n < lastRealTime:
		return fmt.Sprintf("SIGRTMAX-%d", lastRealTime-n)
	case n == lastRealTime && n > 0:
		return "SIGRTMAX"
	}
	return ""
}

package process

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// remote returns the address of a socket's other end. It returns "" if that has no address,
// or is not found by the deadline.
func remote(pid int, inode string, deadline time.Time) string {
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		if time.Now().After(deadline) {
			return ""
		}
		text, found := remoteIn(fmt.Sprintf("/proc/%d/net/%s", pid, protocol), inode, deadline)
		if found {
			return text
		}
	}
	return ""
}

// remoteIn is remote for the sockets in one file of /proc. It returns false if the socket is not
// among them.
func remoteIn(path, inode string, deadline time.Time) (text string, found bool) {
	file, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() && time.Now().Before(deadline) {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 10 && fields[9] == inode {
			return address(fields[2]), true
		}
	}
	return "", false
}

// address parses an address as /proc has it. It returns "" for that of a socket without
// another end.
func address(text string) string {
	var ip []byte
	var port uint16
	_, _ = fmt.Sscanf(text, "%x:%x", &ip, &port)
	for word := range slices.Chunk(ip, 4) { // each in the order of the machine
		slices.Reverse(word)
	}
	address, ok := netip.AddrFromSlice(ip)
	if !ok || port == 0 {
		return ""
	}
	return netip.AddrPortFrom(address.Unmap(), port).String()
}

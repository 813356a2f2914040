package output

import (
	"fmt"
	"os"
)

// placeOf returns where an open folder is now.
func placeOf(root *os.Root) (string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer dir.Close()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}

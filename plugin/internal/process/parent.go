package process

import "os"

// AwaitParent returns when parent, which is or was this process's parent, has
// ended.
func AwaitParent(parent int) {
	p, err := stat(parent)
	if err == nil && os.Getppid() == parent {
		awaitExit(p)
	}
}

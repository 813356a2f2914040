package process

import "os"

// AwaitParent returns when the process that started this one has ended.
func AwaitParent() {
	parent := os.Getppid()
	p, err := stat(parent)
	if err == nil && os.Getppid() == parent {
		awaitExit(p)
	}
}

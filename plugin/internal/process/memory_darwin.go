package process

import "os"

// sharedMemory returns zeroed memory that can be mapped by whoever has the
// file, which has no name any more.
func sharedMemory(size int64) (*os.File, error) {
	file, err := os.CreateTemp("", "bash-plugin-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	return file, file.Truncate(size)
}

package process

import "os"

// anonymousFile returns an empty file without a name.
func anonymousFile() (*os.File, error) {
	file, err := os.CreateTemp("", "bash-plugin-")
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

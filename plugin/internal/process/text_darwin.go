package process

import (
	"errors"
	"os"
)

// TextFile returns a file without a name that holds text, to be read from its
// beginning.
func TextFile(text string) (*os.File, error) {
	file, err := os.CreateTemp("", "bash-plugin-")
	if err != nil {
		return nil, err
	}
	_, err = file.WriteAt([]byte(text), 0)
	err = errors.Join(err, os.Remove(file.Name()))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

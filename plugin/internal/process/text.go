package process

import "os"

// TextFile returns a file without a name that holds text, to be read from its
// beginning.
func TextFile(text string) (*os.File, error) {
	file, err := anonymousFile()
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteAt([]byte(text), 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

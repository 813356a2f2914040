package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bashplugin/shared"
)

// directory is the session's directory: commands run there unless a request names
// another. If it is removed, for example by a command, later commands still begin
// there, as in a shell, and can go elsewhere or make it again.
type directory struct {
	path string

	// handle keeps the directory usable after its removal; nil: it may be entered, but not read.
	handle *os.File
}

// openDirectory opens the session's directory. A relative path starts at the working
// directory.
func openDirectory(path string) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot find the working directory: %w", err)
	}
	if err := checkDir(path); err != nil {
		return nil, fmt.Errorf("cannot run commands in %q: %w", path, err)
	}
	handle, _ := os.Open(path)
	return &directory{path, handle}, nil
}

func (d *directory) close() { d.handle.Close() }

// resolve returns the absolute directory of a request.
func (d *directory) resolve(dir string) (string, error) {
	path := dir
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, dir)
	}
	err := checkDir(path)
	switch {
	case err == nil, d.way(path) != path:
		return path, nil
	case dir == "":
		return "", fail(shared.CodeStart, "cannot run in the session's directory %q: %v", path, err)
	}
	return "", invalid("Dir", "%q cannot be used: %v", path, err)
}

// way returns a path into a directory that resolve has returned. For the session's directory the
// path works even after its removal.
func (d *directory) way(path string) string {
	if path != d.path || d.handle == nil {
		return path
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	way := fmt.Sprintf("/proc/self/fd/%d", d.handle.Fd())
	if _, err := os.Stat(way); err != nil {
		return path // a system without /proc
	}
	return way
}

// checkDir says why a command cannot run in a directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return errors.Unwrap(err)
	case !info.IsDir():
		return errors.New("it is not a directory")
	}
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return fmt.Errorf("it may not be entered: %w", err)
	}
	return nil
}

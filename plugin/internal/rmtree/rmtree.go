// Package rmtree removes folders that a command has filled. Such a folder may hold trees that
// are too deep for a path, or for an open descriptor at each level; folders whose mode keeps
// their owner from changing them; and links that lead elsewhere.
package rmtree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Path removes a file, or a folder with all that is in it.
func Path(path string) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	return Below(parent, filepath.Base(path))
}

// Below is Path for a name in a folder. It lists each folder once, so a file that is added
// meanwhile may stay. Then Below returns an error.
func Below(parent *os.Root, name string) error {
	err := parent.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = parent.Chmod(name, 0o700)
	top, err := parent.OpenRoot(name + "/.") // the dot keeps it from waiting for a FIFO's writer
	if err != nil {
		return err
	}
	r := removal{top: top}
	r.empty(".")
	for len(r.moved) > 0 {
		last := r.moved[len(r.moved)-1]
		r.moved = r.moved[:len(r.moved)-1]
		r.empty(last)
		_ = top.Remove(last)
	}
	top.Close()
	return parent.Remove(name)
}

// removal empties a folder. It moves the folders in it up, so that none is deep.
type removal struct {
	top   *os.Root
	moved []string // folders at the top, not empty yet
	count int      // of the folders moved so far
}

// empty removes all files of a folder at the top, or of the top itself, and moves the folders
// in it up.
func (r *removal) empty(name string) {
	dir, err := r.top.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1000)
		for _, entry := range entries {
			r.remove(filepath.Join(name, entry.Name()), entry.IsDir())
		}
		if err == io.EOF || len(entries) == 0 { //nolint:errorlint // ReadDir returns it as it is
			return
		}
	}
}

func (r *removal) remove(path string, isDir bool) {
	if !isDir {
		_ = r.top.Remove(path)
		return
	}
	err := r.top.Remove(path)
	if err == nil { // it was empty
		return
	}
	_ = r.top.Chmod(path, 0o700) // to move a folder one must be allowed to change it
	if !strings.Contains(path, "/") {
		r.moved = append(r.moved, path) // it is at the top
		return
	}
	for {
		r.count++
		up := "moved-" + strconv.Itoa(r.count)
		_, err = r.top.Lstat(up)
		if err == nil {
			continue // a command has made it
		}
		err = r.top.Rename(path, up)
		if err == nil {
			r.moved = append(r.moved, up)
		}
		return
	}
}

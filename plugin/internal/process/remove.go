package process

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes name below a folder, with all that is in it, even if a command has taken
// the right to change its folders from their owner.
func RemoveAll(folder *os.Root, name string) error {
	err := folder.RemoveAll(name)
	if err == nil {
		return nil
	}
	_ = fs.WalkDir(folder.FS(), name, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = folder.Chmod(path, 0o700)
		}
		return nil
	})
	return folder.RemoveAll(name)
}

// RemovePath is RemoveAll for a path.
func RemovePath(path string) error {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	return RemoveAll(folder, filepath.Base(path))
}

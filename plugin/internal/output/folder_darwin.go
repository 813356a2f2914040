package output

import (
	"os"
	"path/filepath"
)

// placeOf returns where an open folder is, if it has not moved: no command is confined here.
func placeOf(root *os.Root) (string, error) { return filepath.EvalSymlinks(root.Name()) }

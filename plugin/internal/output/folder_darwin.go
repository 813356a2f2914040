package output

import (
	"os"
	"path/filepath"
)

// placeOf returns where an open folder was when it was opened. It cannot tell whether the
// folder has moved since; that matters only for confined commands, which macOS lacks.
func placeOf(root *os.Root) (string, error) { return filepath.EvalSymlinks(root.Name()) }

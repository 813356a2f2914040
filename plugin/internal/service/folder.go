package service

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// folderPrefix begins the name of a socket's folder; the process's pid follows.
const folderPrefix = "bash-plugin-run-"

// maxFolder is how long the path of a socket's folder may be, in bytes: the system
// allows about 100 for the path of the socket in it.
const maxFolder = 80

// shortTemp is used if the path of the usual folder for temporary files will not do.
const shortTemp = "/tmp"

// newFolder returns a path for the socket's folder, which no other process can guess.
func newFolder() string {
	name := fmt.Sprintf("%s%d-%s", folderPrefix, os.Getpid(), rand.Text()[:8])
	dir, err := filepath.Abs(os.TempDir())
	if err != nil || len(dir)+1+len(name) > maxFolder || !isPlain(dir) {
		dir = shortTemp
	}
	return filepath.Join(dir, name)
}

// isPlain reports whether a path can stand in JSON, and in the plugin's first line of
// output, where bars separate the fields.
func isPlain(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsFunc(path, func(r rune) bool { return r == '|' || unicode.IsControl(r) })
}

// sweepFolders removes the folders of plugins that were killed together with
// their guardian.
func sweepFolders() {
	dirs := []string{shortTemp}
	if temp := filepath.Clean(os.TempDir()); temp != shortTemp {
		dirs = append(dirs, temp)
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if rest, ok := strings.CutPrefix(entry.Name(), folderPrefix); ok {
				sweepFolder(filepath.Join(dir, entry.Name()), rest)
			}
		}
	}
}

// sweepFolder removes a folder, whose name after the prefix is name, unless its
// plugin may live.
func sweepFolder(folder, name string) {
	var pid int
	if _, err := fmt.Sscanf(name, "%d-", &pid); err != nil || unix.Kill(pid, 0) != unix.ESRCH {
		return
	}
	if info, err := os.Lstat(folder); err == nil && time.Since(info.ModTime()) > time.Minute {
		_ = os.RemoveAll(folder) // fails if another user owns it
	}
}

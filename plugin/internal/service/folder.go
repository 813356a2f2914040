package service

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bashplugin/plugin/internal/rmtree"
)

// folderPrefix begins the name of a socket's folder; the process's pid follows.
const folderPrefix = "bash-plugin-run-"

// maxFolder is how long the path of a socket's folder may be, in bytes: the system
// allows about 100 for the path of the socket in it.
const maxFolder = 80

// shortTemp is used if the path of the usual folder for temporary files is too long, or has
// characters that cannot stand in the handshake.
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
	isSpecial := func(r rune) bool { return r == '|' || unicode.IsControl(r) }
	return utf8.ValidString(path) && !strings.ContainsFunc(path, isSpecial)
}

// sweepFolders removes the folders of plugins that were killed together with
// their guardian.
func sweepFolders() {
	for _, dir := range slices.Compact([]string{shortTemp, filepath.Clean(os.TempDir())}) {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if isAbandoned(entry) {
				_ = rmtree.Path(filepath.Join(dir, entry.Name())) // fails if another user owns it
			}
		}
	}
}

// isAbandoned reports whether a folder is that of a plugin that has ended.
func isAbandoned(entry os.DirEntry) bool {
	var pid int
	_, err := fmt.Sscanf(entry.Name(), folderPrefix+"%d-", &pid)
	if err != nil {
		return false
	}
	if unix.Kill(pid, 0) != unix.ESRCH { // the plugin may live
		return false
	}
	info, err := entry.Info()
	return err == nil && time.Since(info.ModTime()) > time.Minute
}

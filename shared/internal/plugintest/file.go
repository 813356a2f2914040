//go:build unix

package plugintest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// ReadFile returns the content of a file that there must be.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// ShortDir is a folder with a path short enough for sockets.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Script makes a program that is not the plugin.
func Script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

// Files lists everything below dir.
func Files(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// DiskUse is the size of all logs below dir.
func DiskUse(t testing.TB, dir string) int64 {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*.log"))
	require.NoError(t, err)
	var sum int64
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

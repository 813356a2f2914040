package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	varying      = regexp.MustCompile(`\b\d{3,}\b|bash-plugin-\d+|\d+ms\b|\b\ds\b`) // pids, names, durations, ages
	columns      = regexp.MustCompile(` +`)
)

// Every command of a console block in the README prints what stands below it.
func TestTheCommandsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	dir := t.TempDir() // the commands say bin/host-example
	require.NoError(t, os.Symlink(programs, filepath.Join(dir, "bin")))
	ran := 0
	for _, block := range consoleBlock.FindAllStringSubmatch(string(readme), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if strings.HasPrefix(command, "make ") {
				continue // CI runs these
			}
			ran++
			cmd := exec.Command("bash", "-c", "exec 2>&1; "+command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TMPDIR=/tmp")
			got, _ := cmd.CombinedOutput()
			assert.Equal(t, mask(want), mask(string(got)), command)
		}
	}
	assert.Greater(t, ran, 3)
}

// mask makes texts equal that differ only from one run to the next.
func mask(s string) string {
	return strings.TrimSpace(columns.ReplaceAllString(varying.ReplaceAllString(s, "N"), " "))
}

// Every test that the README names exists.
func TestTheTestsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var code strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			text, _ := os.ReadFile(path)
			code.Write(text)
		}
		return err
	}))
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(readme), -1) {
		assert.Contains(t, code.String(), "func "+name[1]+"(")
	}
}

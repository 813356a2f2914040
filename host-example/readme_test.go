//go:build unix

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
	varying      = regexp.MustCompile(`\bjob \d+(: \d+)?|-g \d+|-- -\d+|"PID": \d+|(?m:^\d{3,} )|(bash-plugin|session)-[\d-]+|\b\d+(\.\d+)?m?s\b`) // pids, names, times
	columns      = regexp.MustCompile(` +`)
)

// Every command of a console block in the README prints what stands below it.
func TestTheCommandsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	// The commands say bin/host-example.
	dir := t.TempDir()
	temp, err := os.MkdirTemp("/tmp", "readme-") // short, for the plugin's socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
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
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			got, _ := cmd.CombinedOutput()
			assert.Equal(t, mask(want), mask(strings.ReplaceAll(string(got), temp, "/tmp")), command)
		}
	}
	assert.Greater(t, ran, 3)
}

// mask makes texts equal that differ only from one run to the next.
func mask(s string) string {
	return strings.TrimSpace(columns.ReplaceAllString(varying.ReplaceAllString(s, "N"), " "))
}

// Every target of make that the documents name exists, and so does each benchmark
// that they or the Makefile select.
func TestTheTargetsInTheReadme(t *testing.T) {
	text := documents(t)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	named := regexp.MustCompile("(?m)(?:`|^\\$ )make ([a-z-]+)").FindAllStringSubmatch(text, -1)
	assert.NotEmpty(t, named)
	for _, target := range named {
		assert.Contains(t, string(makefile), "\n"+target[1]+":")
	}
	code := testCode(t)
	selected := regexp.MustCompile(`-bench '?([A-Za-z]+)`).FindAllStringSubmatch(text+string(makefile), -1)
	assert.NotEmpty(t, selected)
	for _, pattern := range selected {
		assert.Regexp(t, `(?i)func Benchmark\w*`+pattern[1]+`|\{"`+pattern[1]+`"`, code)
	}
}

// testCode returns what stands in the test files.
func testCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			text, _ := os.ReadFile(path)
			code.Write(text)
		}
		return err
	}))
	return code.String()
}

// Every test that the documents name exists.
func TestTheTestsInTheReadme(t *testing.T) {
	code := testCode(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(documents(t), -1) {
		assert.Contains(t, code, "func "+name[1]+"(")
	}
}

// documents returns the README and the pages beside the code.
func documents(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"../README.md", "../plugin/PROMISES.md", "../plugin/deploy/README.md", "../shared/host/TROUBLESHOOTING.md"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

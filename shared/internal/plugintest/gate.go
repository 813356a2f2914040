//go:build unix

package plugintest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Gate holds a command up until the test lets it go on.
type Gate struct {
	path string
	fifo *os.File
}

// NewGate makes a gate that is shut.
func NewGate(t testing.TB) *Gate {
	t.Helper()
	g := &Gate{path: filepath.Join(t.TempDir(), "gate")}
	require.NoError(t, syscall.Mkfifo(g.path, 0o600))
	var err error
	g.fifo, err = os.OpenFile(g.path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { g.fifo.Close() })
	return g
}

// Wait is the bash text that waits for the next Open.
func (g *Gate) Wait() string { return "read -r -n 1 <'" + g.path + "'" }

// Open lets the command pass one Wait.
func (g *Gate) Open(t testing.TB) {
	t.Helper()
	_, err := g.fifo.WriteString("\n")
	require.NoError(t, err)
}

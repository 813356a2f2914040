package main

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMCPEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	l, g := talk(t), newGate(t)
	l.run(1, "echo $$ >"+string(g)+"; "+endless)
	pid := pidIn(t, g.read(t))
	for id := range 5 {
		l.run(id+2, "seq 1 5000")
	}
	pipe, err := os.Open("/proc/" + strconv.Itoa(l.cmd.Process.Pid) + "/fd/1")
	require.NoError(t, err)
	defer pipe.Close()
	require.Eventually(t, func() bool {
		n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
		return err == nil && n >= 60<<10 // of 64 KiB: the next answer waits
	}, hang, time.Millisecond)
	l.in.Close()
	assert.Zero(t, l.end())
	gone(t, pid)
}

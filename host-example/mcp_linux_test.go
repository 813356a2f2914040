package main

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMCPEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	for what, say := range map[string]func(*lines){
		"calls": func(l *lines) {
			for id := range 5 {
				l.run(id+2, "seq 1 5000")
			}
		},
		"garbage": func(l *lines) {
			for range 2000 {
				l.say("garbage")
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			l, g := talk(t), newGate(t)
			l.run(1, "echo $$ >"+string(g)+"; "+endless)
			pid := pidIn(t, g.read(t))
			say(l)
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
		})
	}
}

// Answers to noise that nobody reads do not pile up.
func TestMCPNoiseTakesNoMemory(t *testing.T) {
	t.Parallel()
	l := talk(t)
	defer time.AfterFunc(3*hang, func() { _ = l.cmd.Process.Kill() }).Stop()
	noise := strings.Repeat("noise\n", 10000)
	for range 10 {
		_, err := io.WriteString(l.in, noise)
		require.NoError(t, err)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(l.cmd.Process.Pid) + "/status")
	require.NoError(t, err)
	size := regexp.MustCompile(`VmRSS:\s*(\d+) kB`).FindSubmatch(text)
	require.NotNil(t, size)
	rss, err := strconv.Atoi(string(size[1]))
	require.NoError(t, err)
	assert.Less(t, rss, 200<<10, "in KiB")
	l.in.Close()
	assert.Zero(t, l.end())
}

//go:build unix

package faults

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"bashplugin/shared"
	"bashplugin/shared/host"
	"bashplugin/shared/internal/plugintest"
)

// faultServerEnv makes this test program a server that takes its time: its
// value is the address.
const faultServerEnv = "FAULT_TEST_SERVER"

func runFaultServer(address string) {
	listener, err := net.Listen("tcp", address)
	faultMust(err)
	fmt.Println("listening on", listener.Addr())
	for {
		conn, err := listener.Accept()
		faultMust(err)
		_, _ = io.Copy(conn, conn)
	}
}

// However a server was started and is ended, its port is free at once.
func TestFaultPortIsFree(t *testing.T) {
	t.Parallel()
	for start, text := range map[string]string{
		"in the foreground":  "exec %s",
		"in the background":  "%s & wait",
		"left behind":        "%s &",
		"as a daemon":        "(setsid %s &)",
		"with every defence": "(trap '' TERM INT HUP; setsid nohup %s &)",
	} {
		for end, kill := range map[string]func(*host.Client, int) error{
			"Kill": func(bash *host.Client, pid int) error {
				_, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid, Grace: 50 * time.Millisecond})
				return err
			},
			"Kill with SIGKILL": func(bash *host.Client, pid int) error {
				_, err := bash.Kill(t.Context(), shared.KillRequest{PID: pid, Signal: syscall.SIGKILL})
				return err
			},
			"Close": func(bash *host.Client, _ int) error { return bash.Close() },
		} {
			t.Run(start+", "+end, func(t *testing.T) {
				address := plugintest.FreeAddress(t)
				bash := plugintest.Launch(t)
				server, err := os.Executable()
				require.NoError(t, err)
				job := plugintest.Background(t, bash, "export "+faultServerEnv+"="+address+"; "+fmt.Sprintf(text, server))
				plugintest.AwaitText(t, bash, job.PID, "listening on "+address)
				require.NoError(t, kill(bash, job.PID))
				listener, err := net.Listen("tcp", address)
				if assert.NoError(t, err, "the port is free") {
					listener.Close()
				}
			})
		}
	}
}

// The same when the plugin crashes, within the time that the guardian has.
func TestFaultPortIsFreeAfterACrash(t *testing.T) {
	t.Parallel()
	var free faultTimes
	for range 3 * faultRounds() {
		address := plugintest.FreeAddress(t)
		bash := plugintest.Launch(t)
		server, err := os.Executable()
		require.NoError(t, err)
		job := plugintest.Background(t, bash, "export "+faultServerEnv+"="+address+"; (setsid "+server+" &)")
		plugintest.AwaitText(t, bash, job.PID, "listening on "+address)
		begin := time.Now()
		require.NoError(t, unix.Kill(bash.PluginPID(), unix.SIGKILL))
		plugintest.Eventually(t, "the port is free", func() bool {
			listener, err := net.Listen("tcp", address)
			if err == nil {
				listener.Close()
			}
			return err == nil
		})
		free.add(time.Since(begin))
	}
	free.log(t, "from the plugin's SIGKILL until a server's port is free", 2*time.Second)
}

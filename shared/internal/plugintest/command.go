//go:build unix

package plugintest

import (
	"os/exec"
	"testing"
)

// HardToEnd starts processes in every way that gets away from a careless tool
// and writes their pids to the file $pids.
const HardToEnd = `
	told() { echo $1 >>$pids.part; }
	sleep 1000 & told $!
	nohup sleep 1000 >/dev/null 2>&1 & told $!
	setsid bash -c 'trap "" TERM HUP INT; echo $$ >>$pids.part; while :; do sleep 1000; done' \
		</dev/null >/dev/null 2>&1 &
	( setsid bash -c '( sleep 1000 & echo $! >>$pids.part ) &' & )
	told $$
	until [ $(wc -l <$pids.part) = 5 ]; do sleep 0.01; done
	mv $pids.part $pids
`

// Python returns a command that runs a program in Python, which can make the system
// calls that no tool makes.
func Python(t testing.TB, program string) string {
	t.Helper()
	const path = "/usr/bin/python3"
	if _, err := exec.LookPath(path); err != nil {
		t.Skip("there is no " + path)
	}
	const begin = "import ctypes, os, socket, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n"
	return path + " - <<'END'\n" + begin + program + "\nEND"
}

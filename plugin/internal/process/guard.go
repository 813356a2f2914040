package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"bashplugin/plugin/internal/rmtree"
)

// hostPatience is how long the plugin may outlive its host.
const hostPatience = 1 * time.Second

// IsGuardian reports whether this process was started by StartGuardian.
func IsGuardian() bool { return os.Args[0] == GuardianName }

// Logs is a folder of logs, as the guardian needs it.
type Logs interface {
	KeepCrash(plugin int, lastWords []byte)
	Sweep()
}

// RunGuardian is the guardian's main function. It returns when the plugin and every
// process that it started are gone. find opens a folder of logs, before a command can
// put something else there.
func RunGuardian(find func(logs string) Logs) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	lines := bufio.NewScanner(os.NewFile(3, "plugin"))
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	var o orders
	err := json.Unmarshal(lines.Bytes(), &o)
	if err != nil {
		return err
	}
	go o.watchHost()
	r := readReports(lines, find) // returns when the plugin has ended
	if !r.gone {
		newHunt(&o, r.children).endAll()
	}
	lastWords := readCrash()
	if len(lastWords) > 0 && r.logs != nil && !r.sweep {
		r.logs.KeepCrash(o.Plugin, lastWords)
	}
	for _, path := range o.Remove {
		_ = rmtree.Path(path)
	}
	if r.logs != nil && r.sweep {
		r.logs.Sweep()
	}
	return nil
}

// maxCrash bounds what is kept of what a plugin says as it crashes, in bytes.
const maxCrash = 1 << 20

// readCrash returns what the plugin has written to Duties.Crash.
func readCrash() []byte {
	file := os.NewFile(4, "crash")
	defer file.Close()
	text, _ := io.ReadAll(io.NewSectionReader(file, 0, maxCrash))
	return text
}

// watchHost kills a plugin that outlives its host, because it is stopped or stuck.
func (o *orders) watchHost() {
	if o.Host == 0 {
		return
	}
	plugin, err := stat(o.Plugin)
	if err != nil || os.Getppid() != o.Plugin {
		return // the plugin has ended
	}
	host, err := stat(o.Host)
	if err == nil {
		for still(host) {
			awaitEnd(host.pid)
		}
	}
	time.Sleep(hostPatience)
	_ = send(plugin, syscall.SIGKILL)
}

// reports are what a plugin has said by its end.
type reports struct {
	// children has the children that the plugin had, by pid, and the start of each.
	children map[int]uint64

	// gone says that the plugin has ended all of its processes.
	gone bool

	logs  Logs // nil: it has none
	sweep bool
}

// readReports reads the plugin's lines until the plugin ends.
func readReports(lines *bufio.Scanner, find func(logs string) Logs) *reports {
	r := &reports{children: make(map[int]uint64)}
	for lines.Scan() {
		r.gone = lines.Text() == allGone
		text, isLogs := strings.CutPrefix(lines.Text(), logsLine)
		if isLogs {
			var o logOrders
			_ = json.Unmarshal([]byte(text), &o)
			r.logs = find(o.Folder)
			r.sweep = o.Sweep
			continue
		}
		r.readChild(lines.Text())
	}
	return r
}

// readChild reads a line about the begin or the end of a child.
func (r *reports) readChild(line string) {
	var sign rune
	var pid int
	var start uint64
	_, _ = fmt.Sscanf(line, "%c%d %d", &sign, &pid, &start) // an end has no start
	if sign == '+' {
		r.children[pid] = start
	} else {
		delete(r.children, pid)
	}
}

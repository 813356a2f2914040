package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// members lists the live processes of a group: its roots and their descendants.
func (g *Group) members() []info { return below(g.table.roots(g)[g]) }

// family returns a function that lists the children of a process, of all its threads.
// The number of other processes on the machine does not slow it down.
func family() func(parent info) []info {
	return func(parent info) []info {
		var children []info
		threads := []string{strconv.Itoa(parent.pid)}
		if !parent.single {
			threads = namesIn(fmt.Sprintf("/proc/%d/task", parent.pid))
		}
		for _, thread := range threads {
			for _, child := range childrenOfThread(parent.pid, thread) {
				p, err := stat(child)
				if err == nil && p.ppid == parent.pid { // otherwise its pid was reused, or it is an orphan now
					children = append(children, p)
				}
			}
		}
		return children
	}
}

// adopted lists the children of this process's main thread, to which the kernel gives all
// orphans, and of the thread that forks commands.
func adopted(forker int) []int {
	pid := os.Getpid()
	orphans := childrenOfThread(pid, strconv.Itoa(pid))
	return append(orphans, childrenOfThread(pid, strconv.Itoa(forker))...)
}

// threadID returns the number of the calling thread.
func threadID() int { return unix.Gettid() }

func childrenOfThread(pid int, thread string) []int {
	text, _ := readProc("%d/task/%s/children", pid, thread)
	return numbers(strings.Fields(string(text)))
}

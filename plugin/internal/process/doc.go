// Package process starts commands and ends every process that they started.
//
// A Table holds the Groups of a plugin. A Group is one command: the bash
// process, which leads a session and a process group of its own, and every
// process that descends from it, however it tried to get away.
//
//	plugin ── Table
//	  │         ├─ Group: bash ── children …
//	  │         ├─ Group: bash has ended
//	  │         │    ├─ orphan ── children …
//	  │         │    └─ orphan
//	  │         └─ strays: orphans without the tag of a group
//	  │
//	  └─ "+PID START", "-PID", "gone", end of file ──► Guardian, a second process
//
// # Who belongs to whom
//
// Each process of a group carries the group's tag, a number in a resource limit
// that every child inherits (tag_linux.go). The plugin is a child subreaper: the
// kernel makes it the parent of every orphan. An orphan joins the group of its
// tag. So every process of a group descends from the leader or from an orphan of
// the group. The leader and the orphans are children of the plugin, so that their
// pids cannot be reused before the plugin reaps them. The Table counts them.
//
// A process that removes its tag, as a login by "su -" does, belongs to its group
// for as long as its ancestors live. When it becomes an orphan it is a stray, and
// Close ends it. A command that is confined or limited cannot change its tag
// (package confine).
//
// # How a process ends
//
//	leader or orphan ends
//	         │ a leader: its pidfd; an orphan: SIGCHLD
//	Sweep: its children are the plugin's now; adopt them
//	         │
//	reap it: from here on its pid may be another's
//	         │
//	the group has no leader and no orphan left? ──► Gone
//
// The sweep comes before the reaping, so that a group counts the orphans of a
// process before it stops counting the process. End signals whole process groups,
// which a fork cannot outrun, and repeats SIGKILL to the whole tree until Gone is
// closed.
//
// # The guardian
//
// The Guardian waits until the plugin is gone, for whatever reason. Unless the
// plugin has said that no process is left, the Guardian then kills the processes
// that the plugin reported, the orphans that carry its tag, and all their
// descendants. When the plugin ends, the kernel gives its orphans the same parent
// as the Guardian: an orphan of another parent is not the plugin's, even if it
// carries the tag. The Guardian also ends a plugin that outlives its host.
//
// # Before bash is executed
//
// The function fork does what must happen before bash is executed. Spec.Restrict
// restricts bash: it runs on a thread of its own, which forks bash and then ends.
// All other commands are forked by one thread, because a command can give its
// children to the thread that has forked it.
//
// # Peers
//
// A confined command can signal its own processes alone, because it has a Landlock
// domain of its own. The commands of a confined session are Peers: when a process of
// one command signals a process of another, Group.SignalPeer does what kill(2) would
// do, and nothing else. It finds the group of a process as a sweep does: by the tag,
// and by the child of this process from which the process descends.
//
// # Limits
//
// The limits of each process (Spec.Rlimits) are set by ptrace before the program
// runs. What the whole group uses is polled (Group.Watch), by one goroutine for all
// watched groups. A poll takes long while a fork bomb has the processors. So the
// goroutine also counts the machine's threads, which takes one system call. If they
// grow by more than a limit, it stops the process groups of the watched leaders until
// the poll has counted their processes.
//
// # macOS
//
// There are no tags and no subreaper. A Group is a process group and its
// descendants. A process that left the process group is out of reach once its
// parent has ended.
package process

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
// the group. These are children of the plugin, so that their pids cannot be reused
// before the plugin reaps them; the Table counts them.
//
// A process that removes the tag, as a login by "su -" does, belongs to its group
// for as long as its ancestors live. As an orphan it is a stray, and ends at Close. A command
// that is confined or limited cannot change its tag (package confine).
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
// Because of the sweep before reaping, no process is ever between its parent
// and its group. End signals whole process groups, which a fork cannot outrun,
// and repeats SIGKILL to the whole tree until Gone is closed.
//
// # The guardian
//
// The Guardian waits until the plugin is gone, for whatever reason. Unless the plugin has
// said that it has ended them all, the Guardian then kills those that the plugin reported,
// the orphans that carry its tag, and all their descendants. The kernel gave the plugin's
// orphans to the same process as the Guardian; a process elsewhere that carries the tag is
// not the plugin's. The Guardian also ends a plugin that outlives its host.
//
// # Before bash is executed
//
// Code that wraps bash before it is executed goes into the function fork. What
// restricts bash goes into Spec.Restrict: it runs on a thread of its own, which forks bash
// and then ends. All other commands are forked by one thread, because a command can give its
// children to the thread that has forked it.
//
// # Peers
//
// A confined command can signal its own processes alone, as its domain of Landlock is its own.
// The commands of a confined session are Peers: Group.SignalPeer does for a process of one what
// kill(2) would do with those of another, and nothing else. It finds out to which group a
// process belongs as a sweep does, by the tag and by the child of this process from which it
// descends.
//
// # Limits
//
// What limits each process (Spec.Rlimits) is set on the program by ptrace before it runs.
// What the group uses together is polled (Group.Watch), for all watched groups by one
// goroutine. A poll takes long while a fork bomb has the processors. So the goroutine also
// counts the machine's threads, which takes one system call; if they grow by more than a
// limit, it stops the process groups of watched leaders until the poll has counted them.
//
// # macOS
//
// There are no tags and no subreaper. A Group is a process group and its
// descendants. A process that left the process group is out of reach once its
// parent has ended.
package process

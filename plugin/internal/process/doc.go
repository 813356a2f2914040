// Package process starts commands and ends everything that they started.
//
// A Group is one command: the bash process, which leads a session and a
// process group of its own, and every process that descends from it, however
// it tried to get away. On Linux the plugin is a child subreaper: a process
// whose parent has ended becomes the plugin's child, so that nothing leaves
// the tree, and whose Group such an orphan is of is told by a mark that every
// process of a Group inherits, by its session or by its environment. A Table
// holds the groups.
//
//	Table ─┬─ Group ── bash ── children …
//	       ├─ Group ── (bash has ended) ── orphans …
//	       └─ Record, in memory shared with the Guardian
//
// The Guardian is a second process that does nothing until the plugin is gone
// and then ends whatever the plugin could not.
//
// Where there is no subreaper (macOS), a Group is the process group and the
// descendants whose parents live: a process that left the group and whose
// parent has ended is out of reach.
package process

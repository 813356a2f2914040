// Package job runs one command: its processes, its output and its outcome.
//
// A Job is started, and from then on one goroutine follows it:
//
//	start → bash ends → what it wrote is read → Ended
//	                                             │ something was left behind
//	                                             ↓
//	                                  its last process ends → Over
//
// Bytes travel from a source (the pipe) to the live copy and the Stream; a
// Result is an immutable account of the moment it was made.
package job

// Package job runs one command: its processes, its output and its outcome.
//
// A Job is started, and from then on one goroutine (follow) sees it through:
//
//	start ► bash ends ► what it wrote is read ► Ended
//	                                            │ processes were left behind
//	                                            ▼
//	                                their last one ends ► Over
//
// Each stream of the command has a source, whose goroutine reads the pipe and
// hands every chunk to two places:
//
//	pipe ► source ┬► live copy ► the request's writer   (raw bytes)
//	              └► output.Stream ► Results and log     (text)
//
// A Result is an immutable account of the moment it was made.
package job

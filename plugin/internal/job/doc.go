// Package job runs one command: its processes, its output and its outcome.
//
// One goroutine (follow) accompanies a Job from its start to its end:
//
//	start ► bash ends ► its output is read ► Ended
//	                                         │ if it left processes behind
//	                                         ▼
//	                                 the last one ends ► Over
//
// Each stream of the command has a source, whose goroutine reads the pipe and
// hands every chunk to two places:
//
//	pipe ► source ┬► live copy ► the request's writer   (raw bytes)
//	              └► output.Stream ► Results and log     (text)
//
// With a terminal, a third copy goes to a screen. An input is what Check writes to.
//
// A Result is an immutable account of the Job at one moment.
package job

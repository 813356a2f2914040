// Bash-plugin runs shell commands for a host that loads it with
// hashicorp/go-plugin. Package shared is its contract, package shared/serve brings it to hosts.
//
// # Layout
//
//	program              the plugin as a part of a host: a host as one binary
//	internal/service     main, flags; one service: executor, guardian, socket folder; or many executors
//	                     over TCP, one for each host, with one guardian and table of processes
//	deploy               image and manifests for engines
//	internal/executor    the contract on jobs: run, check, kill, registry
//	internal/job         one command: processes, output, live copy, outcome
//	internal/process     start, signal, descendants, guardian
//	internal/confine     what a command may touch and use: Landlock, seccomp, cgroups
//	internal/output      tail, log, snapshots, truncation
//	internal/sanitize    terminal output to text, a stream
//	internal/rmtree      removes folders that commands have filled
//	internal/bench       the benchmark behind PROMISES.md
//	internal/plain       a check of the source: no glued statements (make lint)
//
// Imports point one way: main, program → service → executor → job → {process, confine, output → sanitize};
// process, executor, output and service use rmtree.
//
// # The path of a byte
//
//	pipe ► job.source ┬► job.live ► the request's writer            raw
//	                  ├► job.screen, of a terminal ► Result.Screen
//	                  └► output.Stream ► sanitize.Sanitizer ┬► tail ► Result
//	                                                        └► log file
//
// # The end of a process
//
// Kill, a timeout, a cancelled call and Close all come to job.Job.End and from
// there to process.Group.End, which signals the command's whole tree and returns
// when nothing of it lives. When the plugin itself dies, the guardian (a second,
// idle process of this program) does the same: process.RunGuardian.
//
// # Where to change what
//
//   - A new field of a Result: its declaration in shared/bash.go, its value in
//     job/result.go or, if it is about one stream, in output's Show.
//   - A default, or a check, of a request: shared/normalize.go.
//   - A new mode: its name in shared/mode.go, its behaviour in executor/mode.go.
//   - A new limit for commands, or something that wraps bash before it is executed:
//     executor/launcher.go; if it must happen in the forked child, process/fork.go. What
//     restricts bash is done to the thread that forks it: package confine.
//   - Another way to reach a plugin: package shared/host, beside launch and attach.
package main

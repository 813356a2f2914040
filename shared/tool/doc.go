// Package tool puts a shared.Bash in front of a model: it makes the tool
// definitions for a request, and executes the calls that the model answers with.
//
// Agents differ in the bash tools that their models and prompts are tuned to.
// A Dialect is one set of tools, with its own names, defaults, descriptions and
// result texts, so that a host can change what runs its commands and keep its
// prompts:
//
//	Native    bash, bash_job, bash_input, bash_kill and bash_jobs: a command that takes too
//	          long becomes a job, and waiting replaces polling. The Default
//	Claude    Bash, TaskOutput and TaskStop, as in Claude Code
//	Codex     exec_command and write_stdin, as in Codex
//	CheckPID  bash with check_pid and kill_pid; a command that takes too long
//	          goes on in the background
//	Mode      bash with a mode (default, slow, background); merged output, cut
//	          in the middle
//	TaskID    bash, bash_output and kill_bash by task_id; development commands
//	          move to the background by themselves
//	BashID    bash, bash_output and kill_bash by bash_id; output is read once
//
// A Toolset is a dialect over a Bash. Its Definitions go to the model, each call
// by the model goes to Call, and the Answer goes back:
//
//	tools, err := tool.New(tool.Default, bash, tool.Options{})
//	if err != nil {
//		return err
//	}
//	defer tools.Close()
//	request.Tools = tools.Definitions()
//	...
//	answer := tools.Call(ctx, tool.Call{Name: use.Name, Arguments: use.Input})
//
// Call never fails: the Answer to a malformed call tells the model what is wrong
// and how to call the tool. Render makes the definitions for other model APIs. Any
// Bash will do, and several Toolsets may share one.
//
// A dialect is one file (native.go is a good one to start from): it has the dialect's
// name, its defaults, its descriptions, and its tools, each with a struct of arguments
// and a method that executes a call. A further dialect also needs its line in the table
// in dialect.go. The schemas and the decoding of calls are in args.go, the types of
// arguments in kinds.go, the ids of jobs in tasks.go, the texts about a Result that
// dialects share in account.go, and the words of errors in words.go. Fields of arguments are called
// as those of the contract's requests, so that an error about one names the other.
package tool

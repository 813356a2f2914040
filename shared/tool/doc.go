// Package tool puts a shared.Bash in front of a model: tool definitions for
// the request, and the execution of the calls that the model answers with.
//
// Agents differ in the bash tools that their models and prompts are tuned to.
// A Dialect is one such set of tools, with its own names, defaults,
// descriptions and result texts, so that a host changes what runs its commands
// and leaves its prompts alone:
//
//	CheckPID  bash with check_pid and kill_pid; a command that takes too long
//	          goes on in the background
//	Mode      bash with a mode (default, slow, background); merged output, cut
//	          in the middle
//	TaskID    bash, bash_output and kill_bash by task_id; development commands
//	          move to the background by themselves
//	BashID    bash, bash_output and kill_bash by bash_id; output is read once
//
// A Toolset is a dialect over a Bash. Its Definitions go to the model, each
// call of the model goes to Call, and the Answer goes back:
//
//	tools, err := tool.New(tool.BashID, bash, tool.Options{})
//	if err != nil {
//		return err
//	}
//	defer tools.Close()
//	request.Tools = tools.Definitions()
//	...
//	answer := tools.Call(ctx, tool.Call{Name: use.Name, Arguments: use.Input})
//
// Call never fails: what is wrong with a call is told to the model, in the
// Answer, together with how to call right. Any Bash will do, and several
// Toolsets may share one.
package tool

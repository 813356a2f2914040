package tool

// The descriptions of tools that take more than a line.

const freshShell = "Each command has a shell of its own: the working directory and variables do not persist between calls."

const nativeDescription = "Run a command with bash. stdout and stderr come as one, in the order written; of long output the end, " +
	"and the path of a file with everything. A command that runs longer than its timeout is not killed: it goes on as a job, whose id you get. " +
	"Start servers and watchers with background=true. {bash_job} waits for a job and reads its output, {bash_kill} ends it, {bash_jobs} lists all. " +
	"Jobs end with the session. " + freshShell

const nativeJobDescription = "Show the new output and the state of a job. Do not poll: wait returns when the job ends, or the time is over; " +
	"wait_for returns as soon as the output matches, for example when a server says that it listens."

const nativeInputDescription = "Write to a job's stdin or type into its terminal, wait as {bash_job} does, and show what came."

const nativeKillDescription = "End a job and every process that it started. Shows its last output. A job that has ended is no error."

const nativeJobsDescription = "List the jobs: id, state and command."

const claudeDescription = "Run a bash command. At its timeout it is not killed but moves to the background, with an ID for {BashOutput} and {KillShell}. " +
	"Of long output you get the end, and the path of a file with everything. Background commands end with the session. " + freshShell

const claudeOutputDescription = "Read the new output of a background shell, with its status (running, completed, failed, killed) and exit code. " +
	"It can wait for the end, or for output that matches wait_for: that saves polling."

const claudeKillDescription = "End a background shell and every process that it started."

const codexDescription = "Run a command with bash. A command that runs longer than yield_time_ms goes on, and the answer has its session ID for {write_stdin}. " + freshShell

const codexWriteDescription = "Type into a running session, or wait for it, and return its new output. \\u0003 is Ctrl-C."

const checkPIDDescription = "Execute a bash command. Long output is truncated to its end; if truncated, full output saved to temp file. " +
	"Commands exceeding timeout are auto-backgrounded. " + freshShell

const modeDescription = `Executes shell commands via bash -c, returning combined stdout/stderr.
Bash state changes (working dir, variables, aliases) don't persist between calls.

With mode="background", returns immediately with output redirected to a file.
Use background for servers/demos that need to stay running.

Use mode="slow" for potentially slow commands: builds, downloads,
installs, tests, or any other substantive operation.

IMPORTANT: Keep commands concise. The command input must be less than 60k tokens.
For complex scripts, write them to a file first and then execute the file.`

const taskIDDescription = `Run shell commands in the terminal, with support for long-running background tasks.

Background Execution:
- Commands matching development patterns (npm/pnpm/yarn, dev servers, build watchers) automatically move to background after 2 seconds if producing output
- Set run_in_background=true to force background execution
- Background tasks return a task_id for use with {bash_output} and {kill_bash} tools
- Initial output shown when moved to background

Notes:
- Optional timeout in milliseconds (default {timeout_ms}), cut to {max_ms}; the command is killed then. In the background there is none, unless one is given
- Quote file paths with spaces; separate multiple commands with ';' or '&&', not newlines; don't add a ` + "`<command>`" + ` wrapper
- Each command starts in the same directory: use absolute paths, not ` + "`cd`" + `: "pytest /foo/bar/tests", not "cd /foo/bar && pytest tests"`

const taskIDOutputDescription = "Retrieve output from a background bash task, by its task_id. Returns the accumulated stdout and stderr, " +
	"and the current status (running/completed/killed/failed). Use this to monitor long-running background tasks."

const taskIDKillDescription = "Terminate a running background bash task, by its task_id. Sends SIGTERM first, then SIGKILL if needed. " +
	"Returns success or failure status."

const bashIDDescription = "Execute bash commands. Returns the output and exit code of a foreground command, which is killed at its timeout (default: {timeout_s} seconds), " +
	"and the bash_id of a background command, for {bash_output} and {kill_bash}. Background commands are killed when the session ends. " +
	"Of long output the end is returned, and the path of a file that has all of it. " + freshShell

const bashIDOutputDescription = "Read output from a background process. Returns the new output since the last check, " +
	"the status (running/completed/failed/killed) and, once it has ended, the exit code."

const bashIDKillDescription = "Terminate a background process gracefully. Returns its output since the last check. A process that has already ended is no error."

package tool

// The descriptions of tools that take more than a line.

const freshShell = "Each command has a shell of its own: the working directory and variables do not persist between calls."

const checkPIDDescription = "Execute a bash command. Output truncated to last 2000 lines or 50KB; if truncated, full output saved to temp file. " +
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
- Background tasks return a task_id for use with bash_output and kill_bash tools
- Initial output shown when moved to background

Before using this tool:
- Quote file paths with spaces
- Capture command output

Notes:
- Command argument required
- Optional timeout in milliseconds (max 600000ms / 10 minutes), default 30 minutes, cut to the maximum. In the background there is none, unless run_in_background=true and a timeout are given
- IMPORTANT: Avoid search commands like ` + "`find` and `grep`" + `. Use grep and glob tools instead
- Avoid read tools like ` + "`cat`, `head`, `tail`, `ls`. Use `read` and `ls`" + ` tools
- For ` + "`grep`, use ripgrep at `rg`" + ` (pre-installed)
- Separate multiple commands with ';' or '&&', not newlines
- Maintain working directory using absolute paths, avoid ` + "`cd`" + `
- Don't add ` + "`<command>`" + ` wrapper

<good-example>
pytest /foo/bar/tests
</good-example>
<bad-example>
cd /foo/bar && pytest tests
</bad-example>
<bad-example>
<command>pytest /foo/bar/tests</command>
</bad-example>`

const taskIDOutputDescription = `Retrieve output from a background bash task.

Usage:
- Accepts a task_id parameter to identify the background task
- Returns the accumulated stdout and stderr output
- Shows current task status (running/completed/killed/failed)
- Use this to monitor or check output from long-running background tasks
- Task IDs are returned when commands are moved to background`

const taskIDKillDescription = `Terminate a running background bash task.

Usage:
- Accepts a task_id parameter to identify the task to kill
- Sends SIGTERM first, then SIGKILL if needed (Unix-like systems)
- Returns success or failure status
- Use this when you need to stop a long-running background task`

const bashIDDescription = "Execute bash commands. Returns the output and exit code of a foreground command, which is killed at its timeout (default: 30 seconds), " +
	"and the bash_id of a background command, for bash_output and kill_bash. Background commands are killed when the session ends. " +
	"Of long output the end is returned, and the path of a file that has all of it. " + freshShell

const bashIDOutputDescription = "Read output from a background process. Returns the new output since the last check, " +
	"the status (running/completed/failed/killed) and, once it has ended, the exit code."

const bashIDKillDescription = "Terminate a background process gracefully. Returns its output since the last check. A process that has already ended is no error."

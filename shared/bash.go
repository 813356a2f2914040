package shared

import (
	"context"
	"io"
	"syscall"
	"time"
)

// Bash runs shell commands and manages the jobs they become.
//
// An implementation is safe for concurrent use, and its calls do not wait for
// each other. A command that fails is a Result, never an error; an error says
// that there is no outcome: a bad request, an unknown pid, a bash that could
// not be started, a plugin that is gone. The implementations of this module
// return an *Error, for errors.As, that matches one of the Err sentinels, on
// both sides of the process boundary. The one exception is ctx.Err(): ctx has
// ended, and the plugin did not answer within 3 s (for a Kill: within Grace and
// 3 s).
type Bash interface {
	// Execute runs a command in a fresh bash and returns when the command has
	// ended, or earlier if the request's Mode says so.
	//
	// When ctx ends, the command's whole process tree is killed, by SIGTERM and
	// half a second later by SIGKILL, and Execute returns a Result with
	// StatusKilled, CauseCancel and the output so far, and a nil error; PID is 0
	// if ctx had ended before the start. Once Execute has returned, ctx no longer
	// affects the job.
	//
	// When ctx ends with the cause ErrLetRun (context.WithTimeoutCause), the
	// command goes on as a job instead, until the timeout of a mode that kills, and
	// the output in the Result does not count as shown. With the cause ErrDetach it does count: use
	// this cause if somebody reads the Result.
	Execute(ctx context.Context, req ExecuteRequest) (*Result, error)

	// Check reports on a job: its state and the output that no earlier Result
	// has shown. When ctx ends, Check stops waiting and reports at once; the
	// job is not touched. An unknown pid is ErrNotFound.
	Check(ctx context.Context, req CheckRequest) (*Result, error)

	// Kill ends a job's whole process tree, returns its final output from the
	// first byte on (within the limits), and forgets the job. If the system does
	// not let a process end, the job is kept and the Result lists the process.
	// Killing a job that has finished succeeds. An unknown pid is ErrNotFound. The
	// end of ctx does not stop a Kill, which takes little more than Grace.
	Kill(ctx context.Context, req KillRequest) (*Result, error)
}

// Defaults and bounds of requests.
const (
	DefaultTimeout  = 120 * time.Second // ExecuteRequest.Timeout, except in ModeBackground
	DefaultMaxLines = 2000              // Limits.MaxLines
	DefaultMaxBytes = 50 << 10          // Limits.MaxBytes
	MaxMaxBytes     = 1 << 20           // the largest Limits.MaxBytes
	MaxCommandBytes = 1 << 20           // the longest ExecuteRequest.Command
	MaxPatternBytes = 1000              // the longest CheckRequest.WaitFor
	MaxNotable      = 100               // the largest Limits.Notable
	MaxInputBytes   = 1 << 20           // the most input that may wait for a command to read it
	DefaultColumns  = 120               // ExecuteRequest.Columns
	DefaultRows     = 40                // ExecuteRequest.Rows
	MaxColumns      = 500               // the largest ExecuteRequest.Columns
	MaxRows         = 200               // the largest ExecuteRequest.Rows
	DefaultGrace    = 2 * time.Second   // KillRequest.Grace
)

// AllJobs stands for every job in CheckRequest.PID and KillRequest.PID.
const AllJobs = -1

// ExecuteRequest is one command for Execute. A negative Timeout is invalid.
type ExecuteRequest struct {
	// Command is passed unchanged to bash -c, or from 128 KiB on to its eval, which leaves REPLY
	// unset. It has at most MaxCommandBytes, and no NUL byte.
	Command string

	Mode    Mode          // "": ModeDetach
	Timeout time.Duration // 0: the mode's DefaultTimeout

	// Dir is where the command runs; a relative path starts in the session's directory. "": in the
	// session's directory, even if that was removed.
	Dir string

	// Env has KEY=VALUE entries. They override the session's environment and the tool's own
	// settings: TERM=dumb, no pagers, editors and prompts, unbuffered Python. An entry without =,
	// or with a NUL byte, is invalid.
	Env []string

	// Merge writes stderr into stdout through one pipe, in the order written.
	Merge bool

	Limits Limits

	// Stdin is what the command reads. A value that is none of the constants is invalid.
	Stdin Stdin

	// Input is written to stdin first, which stays open. It is invalid without Stdin, and past
	// MaxInputBytes.
	Input string

	// Columns and Rows are the terminal's size, with StdinTTY; 0: DefaultColumns and DefaultRows.
	// Negative values and those above MaxColumns and MaxRows are invalid.
	Columns int
	Rows    int

	// Confine says what the command may touch, in addition to what the session's Confine says;
	// nil: the same as the session.
	Confine *Confine

	// Resources says what the command may use; 0: as the session.
	Resources Resources

	// Stdout and Stderr, if not nil, receive a live copy of the raw bytes as
	// the command writes them, in order, by one Write at a time: a Write that
	// blocks holds up the other writer too. With Merge, Stderr gets nothing.
	//
	// Each writer has a buffer of 8 MiB. A slow writer never delays the command:
	// a writer that falls further behind misses bytes, a line in their place says
	// how many, and so does Output.LiveSkipped. Execute waits at most 1 s for
	// writers to take the rest. The copy of a job goes on after Execute has
	// returned. A Write that returns an error ends that writer's copy. If Execute
	// fails, no Write begins after it has returned.
	Stdout, Stderr io.Writer

	// Lossless makes the command wait for a slow writer instead of skipping
	// bytes, as with os/exec. Execute waits until the writers have everything, at
	// most until Timeout or the end of its context. Once Execute has returned, the
	// copy of a job's output goes on as without Lossless.
	Lossless bool
}

// Stdin is what a command has as its standard input.
type Stdin string

// The kinds of stdin.
const (
	// StdinNone is /dev/null.
	StdinNone Stdin = ""
	// StdinPipe is a pipe that CheckRequest.Input writes to, open until
	// CheckRequest.CloseInput: a command that reads to the end of its input waits for that.
	StdinPipe Stdin = "pipe"
	// StdinTTY is a terminal, which is stdin, stdout, stderr and /dev/tty of the command:
	// Merge is implied. Input is what a person would type: "\r" is the enter key, "\x03"
	// interrupts. The environment has TERM=xterm-256color and none of the tool's own
	// settings: pagers and editors work. When bash ends, its terminal is closed like a window:
	// processes in the foreground get SIGHUP, and no more output comes.
	StdinTTY Stdin = "tty"
)

// Limits bound the output in one Result, each stream by itself. It is cut at line ends, and
// within a line only where whole lines would leave more than half of the room unused.
type Limits struct {
	MaxLines int // 0: DefaultMaxLines; negative: no limit

	// MaxBytes is at most MaxMaxBytes; 0: DefaultMaxBytes. Negative is invalid.
	MaxBytes int

	// Ends, if positive, keeps up to this many bytes of each end when a limit is exceeded, at most
	// half of MaxBytes, instead of the tail. Negative or above MaxMaxBytes is invalid.
	Ends int

	// Notable is how many lines Output.Notable may have; 0: none, at no cost. Negative or above
	// MaxNotable is invalid.
	Notable int
}

// CheckRequest asks for a job's state and new output. With AllJobs it asks for
// the list only: Wait and WaitFor are invalid, All and valid Limits have no
// effect.
//
// Without WaitFor, Check waits until bash ends or, if a Result has already said
// that it has, until the processes that it left running end. With WaitFor, Check
// waits until the whole job ends, or output matches: output that no Result has
// shown or, with All, any output. WaitFor is a regular expression of Go's regexp for
// the sanitized text of either stream; ^ and $ match at lines. Check may miss a match
// longer than 64 KiB, and one in output that is no longer in memory after the log has
// reached its bound.
//
// Input is written first: one Check is a whole exchange. The call never waits for the
// command to read: what it has not read waits in memory, at most MaxInputBytes. More, or
// input for a job that has ended or has no open stdin, is ErrInvalid: nothing is written.
type CheckRequest struct {
	// PID is of the job, or of one of its processes; AllJobs lists every job in Result.Jobs.
	PID int

	// All shows all output so far, not only the part that no Result has shown yet.
	All bool

	// Peek makes the output that this call shows not count as shown.
	Peek bool

	// Wait is how long to wait at most; 0: not at all. Negative is invalid.
	Wait time.Duration

	// WaitFor is a pattern of the output to wait for, at most MaxPatternBytes; "": wait for the
	// end. Without Wait it has no effect.
	WaitFor string

	Limits Limits

	Input string // written to the job's stdin

	// CloseInput ends the input: stdin is closed once the command has read what waits. At a
	// terminal it is Ctrl-D.
	CloseInput bool
}

// KillRequest asks for the end of a job. With AllJobs its Result has only Jobs
// set.
type KillRequest struct {
	// PID is of the job, or of one of its processes; AllJobs: every job.
	PID int

	// Signal is sent first; 0: SIGTERM. A signal that the system does not have is invalid.
	Signal syscall.Signal

	// Grace is the time between Signal and SIGKILL; 0: DefaultGrace. Negative is invalid.
	Grace time.Duration

	Limits Limits
}

// Status is the state of a command.
type Status string

// The states of a command.
const (
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed" // exit code 0
	StatusFailed    Status = "failed"    // another exit code, or a signal from elsewhere
	StatusKilled    Status = "killed"    // by this tool; Cause says why
)

// Cause says why a command was killed by this tool.
type Cause string

// The causes of StatusKilled.
const (
	CauseKill    Cause = "kill"    // Kill
	CauseTimeout Cause = "timeout" // the request's Timeout
	CauseCancel  Cause = "cancel"  // the end of Execute's context
	CauseClose   Cause = "close"   // the end of the session

	// A limit of its Resources.
	CauseMemory    Cause = "memory"
	CauseCPU       Cause = "cpu"
	CauseProcesses Cause = "processes"
	CauseDisk      Cause = "disk" // bash, or its last command, was killed by the kernel's SIGXFSZ
)

// Result is an account of a command. It is a value: nothing changes it later. In JSON
// its Duration is duration_ms, in milliseconds, and a field without a value is left out.
//
// Waiting says what the command waits for: "input" on its open stdin or its terminal, "lock
// PATH" (flock, fcntl), "network ADDRESS" (to connect, or for what comes from there), or
// "child" (bash, for what it has started, or a program such as script that passes input on to
// a child). It is never a guess: "" means that the command is busy or stopped, or that the plugin
// cannot tell. It cannot tell on macOS, for a command of more than 64 processes, and for a program
// that waits by epoll, tries for a lock again and again (apt, git, npm), or waits for input and
// something else.
type Result struct {
	// PID is of the bash process, which leads its own session and process group; 0: nothing was
	// started.
	PID int `json:"pid,omitempty"`

	Command string `json:"command,omitempty"`
	Dir     string `json:"dir,omitempty"`

	// Confined says what the command may touch, as in "it may write below /work, $TMPDIR; network:
	// none"; "": it was not confined.
	Confined string `json:"confined,omitempty"`

	Status Status `json:"status,omitempty"`
	Cause  Cause  `json:"cause,omitempty"` // with StatusKilled

	// Exceeded says how the command exceeded a limit of its Resources, as in "it used 2.1 GiB of
	// memory, 2 GiB allowed". If Cause is another one, the left-over processes exceeded it.
	Exceeded string `json:"exceeded,omitempty"`

	// ExitCode is 128+n after signal n, and -1 while running, or if nothing was started.
	ExitCode int `json:"exit_code"`

	// Signal is the signal that ended bash, as in "SIGKILL"; "" if it exited by itself.
	Signal string `json:"signal,omitempty"`

	Stdout   Output        `json:"stdout,omitzero"`
	Stderr   Output        `json:"stderr,omitzero"`
	Started  time.Time     `json:"started,omitzero"`
	Duration time.Duration `json:"-"` // until bash ended, or until now

	// Leftover are the processes that still run after bash ended.
	Leftover []Process `json:"leftover,omitempty"`

	// Ended are the processes that Kill ended, besides bash.
	Ended []Process `json:"ended,omitempty"`

	// Matched is set by Check only: the output matches WaitFor.
	Matched bool `json:"matched,omitempty"`

	Waiting string `json:"waiting,omitempty"` // running only, see above

	// Screen, with StdinTTY only, is what the terminal shows, or showed last, as plain text without
	// trailing blanks and empty lines. It is late if the command draws without end.
	Screen string `json:"screen,omitempty"`

	Usage Usage `json:"usage,omitzero"`

	// Jobs is for AllJobs only. The jobs are without output, and nothing else is set then.
	Jobs JobList `json:"jobs,omitempty"`
}

// Line is a line of output.
type Line struct {
	Number int64  `json:"number"` // from 1, in the whole stream
	Text   string `json:"text"`   // its first 500 bytes
}

// Process is a process that a command started.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // at most 4 KiB of it
}

// Output is the part of one stream that a Result shows. All of it refers to the
// sanitized stream: valid UTF-8 without escape sequences or control characters
// other than tab and newline.
type Output struct {
	Content string `json:"content,omitempty"` // the tail if truncated

	// Head is the beginning, if truncated with Limits.Ends. It ends within a line unless it ends in
	// a newline.
	Head string `json:"head,omitempty"`

	// Truncated is set if the limits cut the output that this Result had to show.
	Truncated   bool   `json:"truncated,omitempty"`
	TruncatedBy string `json:"truncated_by,omitempty"` // "lines" or "bytes"

	// The totals are of the whole stream so far, exact however large; the other two
	// numbers are of Content and Head together, where a line that both have a part of
	// counts once.
	TotalLines  int64 `json:"total_lines,omitempty"`
	TotalBytes  int64 `json:"total_bytes,omitempty"`
	OutputLines int   `json:"output_lines,omitempty"`
	OutputBytes int   `json:"output_bytes,omitempty"`

	// LastLinePartial is set if Content is the end of one line longer than MaxBytes.
	LastLinePartial bool `json:"last_line_partial,omitempty"`

	// StartsMidLine is set if Content begins within a line that is too long for MaxBytes or Ends,
	// alone or with the lines after it.
	StartsMidLine bool `json:"starts_mid_line,omitempty"`

	// Partial is set if Content ends in a line that is still being written.
	Partial bool `json:"partial,omitempty"`

	// Dropped counts the raw bytes so far that were no text: escape sequences, control characters.
	Dropped int64 `json:"dropped,omitempty"`

	// Notable has lines that look like errors, the first and the last ones, each once. They are
	// found in the log, within 4 MiB of either end of what the limits cut.
	Notable []Line `json:"notable,omitempty"`

	// Path names the log with the whole stream so far. Every job has a log; "" if Content is all
	// there was.
	Path string `json:"path,omitempty"`

	// PathError says why the complete log is not there; "" if it is.
	PathError string `json:"path_error,omitempty"`

	// LiveSkipped counts the bytes that the live writer of this stream missed so far.
	LiveSkipped int64 `json:"live_skipped,omitempty"`
}

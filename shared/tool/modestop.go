package tool

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bashplugin/shared"
)

// stopCommand matches the command by which a model stops another one: "kill -9 -PID", as the
// answers of the mode dialect say, or with other signals and without the signs. As in bash, the
// number of a process group (-PID) comes after a signal or "--".
var stopCommand = regexp.MustCompile(
	`^\s*kill(?:(?:\s+-(9|KILL|SIGKILL|15|TERM|SIGTERM)(?:\s+--)?|\s+--)((?:\s+-?\d+)+)|((?:\s+\d+)+))\s*$`)

// stop carries out a command that stops jobs, if all of them are confined: the system keeps a
// confined command from signalling another. It returns false for any other command.
func (d mode) stop(ctx context.Context, given command) (Answer, bool) {
	match := stopCommand.FindStringSubmatch(string(given))
	if match == nil {
		return Answer{}, false
	}
	signal := syscall.SIGTERM
	if match[1] == "9" || strings.HasSuffix(match[1], "KILL") {
		signal = syscall.SIGKILL
	}
	var pids []int
	for field := range strings.FieldsSeq(match[2] + match[3]) {
		pid, _ := strconv.Atoi(strings.TrimPrefix(field, "-"))
		pids = append(pids, pid)
	}
	if !d.areStoppable(ctx, pids) {
		return Answer{}, false
	}
	answer := Answer{Text: "[no output]"}
	for _, pid := range pids {
		killed, err := d.bash.Kill(ctx, shared.KillRequest{PID: pid, Signal: signal, Limits: d.opts.Limits})
		if err == nil { // else it has ended with the job of another of these pids
			answer.Result = killed
		}
	}
	return answer, true
}

// areStoppable reports whether pids are of confined jobs, and name each of these jobs as a
// whole: by its bash or, once that has ended, by all the processes that it left running.
func (d mode) areStoppable(ctx context.Context, pids []int) bool {
	for _, pid := range pids {
		req := shared.CheckRequest{PID: pid, Peek: true, Limits: shared.Limits{MaxBytes: 1}}
		job, err := d.bash.Check(ctx, req)
		if err != nil || job.Confined == "" || over(job) {
			return false
		}
		isLeft := func(p shared.Process) bool { return !slices.Contains(pids, p.PID) }
		if job.PID != pid && (job.Status == shared.StatusRunning || slices.ContainsFunc(job.Leftover, isLeft)) {
			return false
		}
	}
	return true
}

package tool

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"bashplugin/shared"
)

// stopCommand is what the answers of the mode dialect tell a model to run in order to stop a
// background command, with the signals and forms that models use instead.
var stopCommand = regexp.MustCompile(`^\s*kill(?:\s+-(9|KILL|SIGKILL|15|TERM|SIGTERM))?(?:\s+--)?((?:\s+-?\d+)+)\s*$`)

// stop carries out a command that stops jobs, if all of them are confined: the system keeps a
// confined command from signalling another. It returns false for any other command.
func (d mode) stop(ctx context.Context, command string) (Answer, bool) {
	match := stopCommand.FindStringSubmatch(command)
	if match == nil {
		return Answer{}, false
	}
	signal := syscall.SIGTERM
	if strings.HasSuffix(match[1], "KILL") || match[1] == "9" {
		signal = syscall.SIGKILL
	}
	var pids []int
	for field := range strings.FieldsSeq(match[2]) {
		pid, _ := strconv.Atoi(strings.TrimPrefix(field, "-"))
		job, err := d.bash.Check(ctx, shared.CheckRequest{PID: pid, Peek: true, Limits: shared.Limits{MaxBytes: 1}})
		if err != nil || job.Confined == "" || over(job) {
			return Answer{}, false
		}
		pids = append(pids, pid)
	}
	answer := Answer{Text: "[no output]"}
	for _, pid := range pids { // one may have ended with another's job
		if killed, err := d.bash.Kill(ctx, shared.KillRequest{PID: pid, Signal: signal, Limits: d.opts.Limits}); err == nil {
			answer.Result = killed
		}
	}
	return answer, true
}

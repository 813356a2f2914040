package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"bashplugin/shared"
)

func (s *shell) jobs(ctx context.Context, _ string) error {
	list, err := s.client.Check(ctx, shared.CheckRequest{PID: shared.AllJobs})
	if err != nil {
		return err
	}
	if len(list.Jobs) == 0 {
		fmt.Fprintln(s.out, "no jobs")
		return nil
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PID\tSTATUS\tAGE\tOUTPUT\tCOMMAND")
	for _, job := range list.Jobs {
		fmt.Fprintf(table, "%d\t%s\t%v\t%s\t%s\n", job.PID, state(job), time.Since(job.Started).Truncate(time.Second), s.outputSize(job.PID), oneLine(job.Command))
	}
	return table.Flush()
}

// state is a job's status, and what it left running.
func state(job shared.Result) string {
	if n := len(job.Leftover); n > 0 {
		return fmt.Sprintf("%s, %d left", job.Status, n)
	}
	return string(job.Status)
}

// maxLog is where the log of more output ends: the default of Launch.
const maxLog = 256 << 20

// outputSize is that of a job's logs.
func (s *shell) outputSize(pid int) string {
	paths, known := s.logs[pid]
	var sum int64
	more := ""
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			sum += info.Size()
			if info.Size() >= maxLog-utf8.UTFMax { // runes are not cut
				more = "> "
			}
		}
	}
	if !known {
		return "?"
	}
	return more + size(sum)
}

// jobPID takes a number for one job. Those that stand for more are words here.
func jobPID(text string) (pid int, ok bool) {
	pid, err := strconv.Atoi(text)
	return pid, err == nil && pid > 0
}

func (s *shell) check(ctx context.Context, args string) error {
	pid, ok := jobPID(args)
	if !ok {
		return errors.New("use :check PID, with a PID that :jobs lists")
	}
	result, err := s.client.Check(ctx, shared.CheckRequest{PID: pid})
	return s.show(result, err)
}

func (s *shell) wait(ctx context.Context, args string) error {
	number, pattern, _ := strings.Cut(args, " ")
	pid, ok := jobPID(number)
	if !ok {
		return errors.New("use :wait PID REGEXP, with a PID that :jobs lists")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return err
	}
	ahead := s.console.begin(false)
	defer s.console.end()
	result, err := s.attend(ctx, ahead, func(ctx context.Context) (*shared.Result, error) {
		return s.client.Check(ctx, shared.CheckRequest{PID: pid, Wait: forever, WaitFor: strings.TrimSpace(pattern)})
	}, stopCall)
	s.console.end()
	return s.show(result, err)
}

func (s *shell) killJob(ctx context.Context, args string) error {
	pid, ok := jobPID(args)
	if args == "all" {
		pid, ok = shared.AllJobs, true
	}
	if !ok {
		return errors.New("use :kill PID or :kill all, with a PID that :jobs lists")
	}
	result, err := s.client.Kill(ctx, shared.KillRequest{PID: pid, Limits: nothing})
	if err != nil {
		return err
	}
	for _, job := range append(result.Jobs, *result) {
		if job.PID != 0 {
			fmt.Fprintf(s.err, "[job %d: %s]\n", job.PID, outcome(&job))
			delete(s.logs, job.PID)
		}
	}
	return nil
}

// show prints what a Result of Check shows.
func (s *shell) show(r *shared.Result, err error) error {
	if err != nil {
		return err
	}
	s.note(r)
	for _, stream := range []struct {
		to  io.Writer
		out shared.Output
	}{{s.out, r.Stdout}, {s.err, r.Stderr}} {
		fmt.Fprint(stream.to, stream.out.Content)
		if stream.out.Content != "" && !strings.HasSuffix(stream.out.Content, "\n") {
			fmt.Fprintln(stream.to)
		}
		if stream.out.Truncated {
			fmt.Fprintf(s.err, "[the last %d of %d lines; %s]\n", stream.out.OutputLines, stream.out.TotalLines, whereWhole(stream.out))
		}
	}
	fmt.Fprintf(s.err, "[job %d: %s]\n", r.PID, outcome(r))
	for _, p := range r.Leftover {
		fmt.Fprintf(s.err, "[left running: %d %s]\n", p.PID, oneLine(p.Command))
	}
	return nil
}

// whereWhole says where all of an output is, or why it is nowhere.
func whereWhole(out shared.Output) string {
	switch {
	case out.Path == "":
		return out.PathError
	case out.PathError != "":
		return fmt.Sprintf("%s is incomplete: %s", quote(out.Path), out.PathError)
	}
	return "all of them are in " + quote(out.Path)
}

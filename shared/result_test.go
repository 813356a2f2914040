package shared

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryFieldOfAResultIsInItsJSON(t *testing.T) {
	want := filled[Result](t)
	want.Jobs = []Result{{PID: 9, Status: StatusRunning, ExitCode: -1}, {PID: 10, Status: StatusCompleted}}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(want))
	var got Result
	require.NoError(t, json.Unmarshal(text.Bytes(), &got))
	assert.Equal(t, want, got)
	assert.Contains(t, text.String(), `"content":"<a & b> 語 `)
	assert.NotRegexp(t, `"[^"]*[A-Z][^"]*":`, text.String(), "names are in snake_case")
}

func TestJSONOfAResultLeavesOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Result{
		`{"pid":7,"status":"running","duration_ms":1500}`:                          {PID: 7, Status: StatusRunning, ExitCode: -1, Duration: 1500 * time.Millisecond},
		`{"pid":7,"status":"completed","stdout":{"content":"hi\n"},"exit_code":0}`: {PID: 7, Status: StatusCompleted, Stdout: Output{Content: "hi\n"}},
		`{"status":"completed","exit_code":0,"usage":{"max_memory":4096,"max_processes":2,"cpu_ms":20}}`: {
			Status: StatusCompleted, Usage: Usage{MaxMemory: 4096, CPU: 20 * time.Millisecond, MaxProcesses: 2}},
		`{"status":"killed","cause":"cancel","exit_code":-1}`:                                   {Status: StatusKilled, Cause: CauseCancel, ExitCode: -1},
		`{"jobs":[{"pid":9,"status":"failed","started":"1970-01-01T00:00:01Z","exit_code":1}]}`: {Jobs: []Result{{PID: 9, Status: StatusFailed, ExitCode: 1, Started: time.Unix(1, 0).UTC()}}},
	} {
		text, err := json.Marshal(&r)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		var back Result
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, r, back)
	}
	assert.Error(t, json.Unmarshal([]byte(`{"pid":"seven"}`), new(Result)))
}

func TestAResultIsPrintedForPeople(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Result{
		"completed, exit code 0, 12ms\npid 7: \"echo hi\"\nstdout:\nhi": {
			PID: 7, Command: "echo hi", Status: StatusCompleted, Duration: 12 * time.Millisecond, Stdout: Output{Content: "hi\n"}},
		"running, 2s\npid 7: \"make\"\nstdout, /log:\n\nstderr, disk full:\n": {
			PID: 7, Command: "make", Status: StatusRunning, Duration: 2 * time.Second, Stdout: Output{Path: "/log"}, Stderr: Output{PathError: "disk full"}},
		"killed, exit code 143 (SIGTERM), 0s\npid 7: \"a\"\nleft running: 8 \"b\"\nended: 9 \"c\"": {
			PID: 7, Command: "a", Status: StatusKilled, Cause: CauseKill, ExitCode: 143, Signal: "SIGTERM", Leftover: []Process{{8, "b"}}, Ended: []Process{{9, "c"}}},
		"killed (cancel), exit code -1, 0s\npid 0: \"a\"": {Command: "a", Status: StatusKilled, Cause: CauseCancel, ExitCode: -1},
		"failed, exit code 1, 0s\npid 7: \"a\"\nstderr, 2 of 9 lines, /log, full:\na\n…\nz": {
			PID: 7, Command: "a", Status: StatusFailed, ExitCode: 1,
			Stderr: Output{Head: "a\n", Content: "z\n", Truncated: true, OutputLines: 2, TotalLines: 9, Path: "/log", PathError: "full"}},
		"failed, exit code 1, 0s\npid 7: \"a\"\nused: 20ms of processor time, 4 KiB, processes: 2\nleft running: 8 \"b\"\n" +
			"stdout, 1 of 90 lines, /log:\n…\nz\nleft out, like errors:\n3: error: x\n70: FAIL": {
			PID: 7, Command: "a", Status: StatusFailed, ExitCode: 1, Leftover: []Process{{8, "b"}},
			Usage:  Usage{MaxMemory: 4096, CPU: 20 * time.Millisecond, MaxProcesses: 2},
			Stdout: Output{Content: "z\n", Truncated: true, OutputLines: 1, TotalLines: 90, Path: "/log", Notable: []Line{{3, "error: x"}, {70, "FAIL"}}}},
		"jobs:\nrunning, 1s\npid 7: \"sleep 9\"": {Jobs: []Result{{PID: 7, Command: "sleep 9", Status: StatusRunning, Duration: time.Second}}},
	} {
		assert.Equal(t, want, r.String())
	}
}

//go:build unix

package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared"
	"bashplugin/shared/tool"
)

func TestARefusalOfAConfinementIsTold(t *testing.T) {
	t.Parallel()
	const confined = "it may write below /work, $TMPDIR; network: none"
	for name, c := range map[string]struct {
		result shared.Result
		told   bool
	}{
		"EACCES on stderr":       {shared.Result{Confined: confined, Status: shared.StatusFailed, Stderr: shared.Output{Content: "bash: /x: Permission denied\n"}}, true},
		"EPERM of a Go program":  {shared.Result{Confined: confined, Status: shared.StatusFailed, Stdout: shared.Output{Content: "kill 1: operation not permitted"}}, true},
		"EROFS in the beginning": {shared.Result{Confined: confined, Status: shared.StatusFailed, Stdout: shared.Output{Head: "Read-only file system\n", Truncated: true}}, true},
		"no network":             {shared.Result{Confined: confined, Status: shared.StatusFailed, Stderr: shared.Output{Content: "curl: (6) Could not resolve host: x\n"}}, true},
		"another failure":        {shared.Result{Confined: confined, Status: shared.StatusFailed, Stderr: shared.Output{Content: "no\n"}}, false},
		"of npm":                 {shared.Result{Confined: confined, Status: shared.StatusFailed, Stderr: shared.Output{Content: "npm error code EAI_AGAIN\n"}}, true},
		"a success":              {shared.Result{Confined: confined, Status: shared.StatusCompleted, Stderr: shared.Output{Content: "Permission denied\n"}}, true},
		"of a job":               {shared.Result{Confined: confined, Status: shared.StatusRunning, Stdout: shared.Output{Content: "Network is unreachable\n"}}, true},
		"not confined":           {shared.Result{Status: shared.StatusFailed, Stderr: shared.Output{Content: "Permission denied\n"}}, false},
	} {
		for _, dialect := range withCommand() {
			t.Run(name+", "+string(dialect), func(t *testing.T) {
				c.result.PID, c.result.ExitCode = 7, 1
				tools, err := tool.New(dialect, always(&c.result), tool.Options{})
				require.NoError(t, err)
				defer tools.Close()
				answer := tools.Call(t.Context(), tool.Call{Name: tools.Definitions()[0].Name, Arguments: json.RawMessage(`{"command":"x"}`)})
				if line := "\n[This command ran confined: " + confined + ".]"; c.told {
					assert.Contains(t, answer.Text, line)
				} else {
					assert.NotContains(t, answer.Text, "confined")
				}
			})
		}
	}
}

func TestAModelLearnsWhichLimitWasExceeded(t *testing.T) {
	t.Parallel()
	const exceeded = "it used 2.1 GiB of memory, 2 GiB allowed"
	for _, result := range []shared.Result{
		{PID: 7, Status: shared.StatusKilled, Cause: shared.CauseMemory, Exceeded: exceeded, ExitCode: 137, Signal: "SIGKILL"},
		{PID: 7, Status: shared.StatusCompleted, Exceeded: exceeded},
	} {
		for _, dialect := range withCommand() {
			tools, err := tool.New(dialect, always(&result), tool.Options{})
			require.NoError(t, err)
			answer := tools.Call(t.Context(), tool.Call{Name: tools.Definitions()[0].Name, Arguments: json.RawMessage(`{"command":"x"}`)})
			assert.Contains(t, answer.Text, exceeded, dialect)
			assert.NoError(t, tools.Close())
		}
	}
}

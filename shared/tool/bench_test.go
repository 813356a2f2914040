//go:build unix

package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"bashplugin/shared"
	"bashplugin/shared/internal/plugintest"
	"bashplugin/shared/tool"
)

// BenchmarkOverhead compares a call through each dialect with the contract
// call under it, in turns, so that both see the same machine. The difference
// of the medians is reported in percent of the contract call.
func BenchmarkOverhead(b *testing.B) {
	for _, dialect := range withCommand() {
		for name, command := range map[string]string{"true": "true", "50KB": "head -c 51200 /dev/zero | tr '\\0' 'x'; echo"} {
			b.Run(fmt.Sprintf("%s/execute-%s", dialect, name), func(b *testing.B) {
				a := newAgent(b, dialect)
				recorded := new(fake)
				arguments := raw(args{"command": command})
				newTools(b, dialect, recorded).Call(b.Context(), tool.Call{Name: "bash", Arguments: arguments})
				req := recorded.requests[0].(shared.ExecuteRequest) // the one that the dialect makes
				req.Dir = a.dir
				overhead(b,
					func() { _, _ = plugin.Execute(b.Context(), req) },
					func() { a.Call(b.Context(), tool.Call{Name: "bash", Arguments: arguments}) })
			})
		}
	}
}

// BenchmarkOverheadOfCheck is the same for a look at a job that runs.
func BenchmarkOverheadOfCheck(b *testing.B) {
	for dialect, check := range map[tool.Dialect]struct{ name, argument string }{
		tool.CheckPID: {"bash", "check_pid"}, tool.TaskID: {"bash_output", "task_id"}, tool.BashID: {"bash_output", "bash_id"},
	} {
		b.Run(string(dialect), func(b *testing.B) {
			a := newAgent(b, dialect)
			start := args{"command": plugintest.Forever, "run_in_background": true}
			if dialect == tool.CheckPID {
				start = args{"command": plugintest.Forever, "timeout": 1}
			}
			job := a.run(start)
			arguments := raw(args{check.argument: job.ID})
			if job.ID == "" {
				arguments = raw(args{check.argument: job.Result.PID})
			}
			req := shared.CheckRequest{PID: job.Result.PID, All: dialect == tool.TaskID}
			overhead(b,
				func() { _, _ = plugin.Check(b.Context(), req) },
				func() { a.Call(b.Context(), tool.Call{Name: check.name, Arguments: arguments}) })
		})
	}
}

// overhead runs both in turns and reports by how much the second takes longer.
func overhead(b *testing.B, contract, dialect func()) {
	var under, over []time.Duration
	contract()
	dialect()
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		contract()
		middle := time.Now()
		dialect()
		under = append(under, middle.Sub(start))
		over = append(over, time.Since(middle))
	}
	a, z := median(under), median(over)
	b.ReportMetric(float64(a.Nanoseconds()), "contract-ns/op")
	b.ReportMetric(float64(z.Nanoseconds()), "dialect-ns/op")
	b.ReportMetric(100*(z.Seconds()/a.Seconds()-1), "%overhead")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkCall measures a dialect alone, over a Bash that answers at
// once.
func BenchmarkCall(b *testing.B) {
	for _, dialect := range withCommand() {
		b.Run(string(dialect), func(b *testing.B) {
			tools := newTools(b, dialect, always(&shared.Result{PID: 7, Status: shared.StatusCompleted, Stdout: shared.Output{Content: "hello\n"}}))
			call := tool.Call{Name: "bash", Arguments: raw(args{"command": "echo hello"})}
			b.ReportAllocs()
			for b.Loop() {
				tools.Call(b.Context(), call)
			}
		})
	}
}

func raw(arguments args) json.RawMessage {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return text
}

//go:build linux

package agents

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tableEnv is the file whose table the tests write. Without it the agents' own tools do not run.
const tableEnv = "AGENTS_TABLE"

// The rows of the table.
const (
	rowSize   = "definitions of the tools"
	rowExit   = "`echo hello; exit 3`"
	rowColour = "colours and invalid UTF-8"
	rowLines  = "`seq 1 100000; exit 4`"
)

// rows are the rows of the table, in their order.
func rows() []string {
	return []string{
		rowSize, rowExit, rowColour, rowLines, "left after SIGINT", "left after SIGTERM", "left after SIGKILL",
	}
}

// table is what was seen. Each cell has what the model sees of our tool and of the agent's own.
type table struct {
	mu    sync.Mutex // guards cells
	cells map[string][2]string
}

var results = table{cells: make(map[string][2]string)}

// add notes what was seen; "": nothing.
func (r *table) add(row string, a agent, ours, own string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cell := r.cells[row+a.name]
	if ours != "" {
		cell[0] = ours
	}
	if own != "" {
		cell[1] = own
	}
	r.cells[row+a.name] = cell
}

// addAnswers notes the answers to the first three calls of the script.
func (r *table) addAnswers(a agent, answers []string, isOurs bool) {
	add := func(row, text string) {
		if isOurs {
			r.add(row, a, text, "")
			return
		}
		r.add(row, a, "", text)
	}
	add(rowExit, hasCode(answers[0], "3"))
	colour := "text"
	switch {
	case strings.Contains(answers[1], "\x1b"):
		colour = "escapes"
	case !strings.Contains(answers[1], "red \uFFFD end"):
		colour = "no"
	}
	add(rowColour, colour)
	add(rowLines, described(answers[2]))
}

func hasCode(answer, code string) string {
	if regexp.MustCompile(`(?i)(code|status)\D{0,15}` + code + `\b`).MatchString(answer) {
		return "exit code"
	}
	return "no exit code"
}

// described says what an answer about 100,000 lines has.
func described(answer string) string {
	parts := []string{fmt.Sprintf("%.0f KB", float64(len(answer))/1000), hasCode(answer, "4")}
	if regexp.MustCompile(`(?m)^100000\b`).MatchString(answer) {
		parts = append(parts, "the end")
	}
	if strings.Contains(answer, "/") {
		parts = append(parts, "a path")
	}
	return strings.Join(parts, ", ")
}

// The table compares our tools with the agents' own.
func TestAgentsOwnTools(t *testing.T) {
	if os.Getenv(tableEnv) == "" {
		t.Skip("only the table needs this")
	}
	forEach(t, func(t *testing.T, a agent) {
		own := []string{"echo hello; exit 3", `printf '\033[31mred\033[m \377 end\n'`, "seq 1 100000; exit 4"}
		m := newModel(t, a.own[0], func(c conversation) *call {
			if len(c.answers) < len(own) {
				return a.ownCall(own[len(c.answers)])
			}
			return nil
		})
		s := newSession(t, a, m, 0)
		err := s.Run()
		answers, tools := m.seen()
		if !assert.Len(t, answers, len(own)) {
			t.Logf("%v: %s", err, s.output())
			return
		}
		total := 0
		for _, name := range a.own {
			total += len(tools[name])
		}
		results.add(rowSize, a, "", fmt.Sprintf("%.1f KB", float64(total)/1000))
		results.addAnswers(a, answers, false)
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			left := endAmidACommand(t, a, sig, a.ownCall)
			results.add("left after "+signalName(sig), a, "", fmt.Sprintf("%d of 2", left))
		}
	})
}

// text is the table in Markdown.
func (r *table) text() string {
	var b strings.Builder
	b.WriteString("| ours / its own |")
	for _, a := range agentList() {
		fmt.Fprintf(&b, " %s %s |", a.name, a.version())
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(agentList())) + "\n")
	for _, row := range rows() {
		b.WriteString("| " + row + " |")
		for _, a := range agentList() {
			cell := r.cells[row+a.name]
			fmt.Fprintf(&b, " %s / %s |", cell[0], cell[1])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// tablePart matches the table in its file.
var tablePart = regexp.MustCompile(`(?s)\| ours / its own \|.*?\n\n`)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	path := os.Getenv(tableEnv)
	if path != "" && code == 0 {
		old, err := os.ReadFile(path)
		if err == nil {
			text := tablePart.ReplaceAllLiteralString(string(old), results.text()+"\n")
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

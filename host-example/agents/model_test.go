//go:build linux

package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// call is a tool call by the model.
type call struct {
	name      string
	arguments map[string]any
}

// conversation is what a request to the model says: the tools that there are, and the answers to
// the tool calls so far.
type conversation struct {
	tools   map[string]json.RawMessage // definitions by name
	answers []string
}

// api is one protocol between agents and models.
type api interface {
	// read reads a request.
	read(body []byte) conversation

	// write answers with a call, or with a text if call is nil. n counts the answers.
	write(w http.ResponseWriter, body []byte, n int, call *call, text string)
}

// model is a scripted model: it answers each request with the next call of a script.
type model struct {
	*httptest.Server
	t *testing.T

	// next returns the next call, nil at the end.
	next func(conversation) *call

	// tool is a tool that the script calls. A request without it is not part of the conversation:
	// agents ask for titles and summaries.
	tool string

	dir string // for a copy of each request; "": none

	mu    sync.Mutex // guards the fields below
	count int        // requests so far

	// answers are those to the script's calls, each as the request after it has it: some agents
	// shorten older ones.
	answers []string

	// tools are the definitions of tools, by their names.
	tools map[string]json.RawMessage
}

// newModel begins to serve.
func newModel(t *testing.T, tool string, next func(conversation) *call) *model {
	m := &model{t: t, next: next, tool: tool, dir: os.Getenv("AGENTS_TRACE")}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// apiOf returns the protocol of a path, nil if there is none.
func apiOf(path string) api {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.Contains(path, "enerateContent"):
		return gemini{isStream: strings.Contains(path, "stream")}
	}
	return nil
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	m.count++
	count := m.count
	m.mu.Unlock()
	m.trace(fmt.Sprintf("%s-%03d-%s", m.t.Name(), count, r.URL.Path), body)
	protocol := apiOf(r.URL.Path)
	if protocol == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[],"models":[],"input_tokens":1}`)
		return
	}
	c := protocol.read(body)
	if c.tools[m.tool] == nil {
		protocol.write(w, body, count, nil, "a title")
		return
	}
	m.mu.Lock()
	m.tools = c.tools
	if len(c.answers) > len(m.answers) {
		m.answers = append(m.answers, c.answers[len(m.answers):]...)
	}
	next := m.next(c)
	m.mu.Unlock()
	protocol.write(w, body, count, next, "done")
}

// seen returns the answers and the definitions that the model has seen.
func (m *model) seen() (answers []string, tools map[string]json.RawMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers, m.tools
}

// trace keeps a request, for whoever adds an agent.
func (m *model) trace(name string, body []byte) {
	if m.dir != "" {
		_ = os.WriteFile(filepath.Join(m.dir, strings.ReplaceAll(name, "/", "_")), body, 0o600)
	}
}

// events writes server-sent events. An event with a type has its name.
func events(w http.ResponseWriter, list ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range list {
		text, _ := json.Marshal(event) // cannot fail
		if name, ok := event["type"].(string); ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
}

// define notes a tool's definition.
func (c *conversation) define(name string, definition json.RawMessage) {
	if c.tools == nil {
		c.tools = make(map[string]json.RawMessage)
	}
	c.tools[name] = definition
}

// nameOf returns the name in a definition.
func nameOf(definition json.RawMessage) string {
	var d struct{ Name string }
	_ = json.Unmarshal(definition, &d)
	return d.Name
}

// texts returns the text in a string, a list of parts with texts, or an object with one.
func texts(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, part := range v {
			all = append(all, texts(part))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		for _, key := range []string{"text", "content", "output", "error"} {
			if v[key] != nil {
				return texts(v[key])
			}
		}
		text, _ := json.Marshal(v) // cannot fail
		return string(text)
	}
	return ""
}

// argumentsOf is the JSON of a call's arguments.
func argumentsOf(c *call) string {
	text, _ := json.Marshal(c.arguments) // cannot fail
	return string(text)
}

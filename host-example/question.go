package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bashplugin/shared/policy"
)

// answers are what a person may say to a question.
const (
	answerYes    = "yes"
	answerAlways = "always"
	answerNo     = "no"
)

// answer returns what a word says. Whatever is not clearly a yes is a no.
func answer(word string) policy.Answer {
	yes := policy.Answer{Decision: policy.Allow}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "y", answerYes:
		return yes
	case "a", answerAlways:
		yes.Always = true
		return yes
	}
	return policy.Answer{Decision: policy.Deny}
}

// asker asks at the prompt; nil: there is nobody, as the commands come from a pipe.
func (in *input) asker() ask {
	if in.editor == nil {
		return nil
	}
	return func(ctx context.Context, q policy.Question) (policy.Answer, error) {
		fmt.Print(q)
		word, err := in.line(ctx, "run it? [y]es, [n]o, [a]lways: ")
		if err != nil {
			return policy.Answer{}, err
		}
		return answer(word), nil
	}
}

// asking is how a call of an MCP client asks the person there: by a request of its own or, from this
// version of the protocol on, by an answer after which the client calls again.
type asking struct {
	client *mcp.ServerSession
	given  mcp.InputResponseMap

	mu   sync.Mutex
	open mcp.InputRequestMap // what the client has to ask
}

const answersAsk = "2026-07-28"

// askingKey is the key of a context's asking.
type askingKey struct{}

// questions returns what the client has to ask before the call can be made; nil: nothing.
func (a *asking) questions() mcp.InputRequestMap {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// ask returns the person's answer to a question of this id. Another command has another id.
func (a *asking) ask(ctx context.Context, id string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if a.client.InitializeParams().ProtocolVersion < answersAsk {
		return a.client.Elicit(ctx, params)
	}
	given, ok := a.given[id].(*mcp.ElicitResult)
	if ok {
		return given, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = mcp.InputRequestMap{id: params}
	return nil, errors.New("the client asks its person now")
}

// elicit asks the person at the MCP client that a call comes from.
func elicit(ctx context.Context, q policy.Question) (policy.Answer, error) {
	a, ok := ctx.Value(askingKey{}).(*asking)
	if !ok {
		return policy.Answer{}, errors.New("no client has called")
	}
	about := a.client.InitializeParams()
	if about == nil || about.Capabilities == nil || about.Capabilities.Elicitation == nil {
		return policy.Answer{}, errors.New("this client cannot ask. A person can allow it for the next session, " +
			"by the flag -allow with the words it begins with, or in the file of -rules")
	}
	choices := []any{answerYes, answerAlways, answerNo}
	id := fmt.Sprintf("run-%x", sha256.Sum256([]byte(q.String())))
	result, err := a.ask(ctx, id, &mcp.ElicitParams{
		Message: q.String(),
		RequestedSchema: &jsonschema.Schema{
			Type:       "object",
			Properties: map[string]*jsonschema.Schema{"run": {Type: "string", Title: "Run it?", Enum: choices}},
			Required:   []string{"run"},
		},
	})
	if err != nil {
		return policy.Answer{}, err
	}
	word, _ := result.Content["run"].(string)
	if result.Action != "accept" {
		word = answerNo
	}
	return answer(word), nil
}

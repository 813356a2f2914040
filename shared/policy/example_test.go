//go:build unix

package policy_test

import (
	"fmt"

	"bashplugin/shared/policy"
)

// The strictest part decides, wherever it hides.
func ExamplePolicy_Decide() {
	p := policy.Policy{Rules: append(policy.Reading,
		policy.Rule{Command: "go test *", Decision: policy.Allow},
		policy.Rule{Command: "git push *", Decision: policy.Deny},
	)}
	for _, command := range []string{
		"git diff | head -5",
		"git diff --output=main.go",
		"timeout 60 go test ./... > log",
		`sh -c "cd src; git push"`,
		"go test $PACKAGES",
	} {
		decision, _ := p.Decide(command)
		fmt.Println(decision, command)
	}
	// Output:
	// allow git diff | head -5
	// ask git diff --output=main.go
	// ask timeout 60 go test ./... > log
	// deny sh -c "cd src; git push"
	// ask go test $PACKAGES
}

//go:build unix

package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"bashplugin/shared"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule    string
		command string
		matches bool
	}{
		{"git diff", "git diff", true},
		{"git diff", "git diff a", false},
		{"git diff *", "git diff", true},
		{"git diff *", "git diff a b/c -d", true},
		{"git diff *", "git", false},
		{"git diff *", "git log diff", false},
		{"git * a", "git diff a", true},
		{"git * a", "git diff b a", false},
		{"git", "/usr/bin/git", true},
		{"git", "/bin/../bin/git", false},
		{"git", "./git", false},
		{"git", "/home/me/bin/git", false},
		{"./git", "./git", true},
		{"cat src/*.go", "cat src/a.go", true},
		{"cat src/*.go", "cat src/a/b.go", false},
		{`echo \*`, "echo '*'", true},
		{`echo \*`, "echo a", false},
		{`echo a\ b`, "echo 'a b'", true},
		{`echo a\ b`, "echo a b", false},
		{"echo ?", "echo é", true},
		{"> build/*", "ls > build/out", true},
		{"> build/*", "ls > build/../out", false},
		{"> build/*", "'>' build/out", false},
		{"> build/*", "cd x; ls > build/out", false},
		{"*", "anything at all", true},
		{"*", "anything $x", false},
		{"*", "$x", false},
		{"*", "ls)", false},
		{"rm x", "timeout 5 nice rm x", true},
		{"timeout *", "timeout 5 rm x", false},
		{"sudo *", "sudo rm x", false},
		{"bash *", "bash -c 'rm x'", false},
		{"bash *", "bash build.sh", true},
	} {
		decision, parts := Policy{Rules: []Rule{{Command: c.rule, Decision: Allow}}, Default: Ask}.Decide(c.command)
		if len(parts) == 2 && c.matches { // ls > file
			decision = parts[0].Decision
		}
		assert.Equal(t, c.matches, decision == Allow, "%q of %q: %v", c.rule, c.command, parts)
	}
}

func TestTheStrictestDecides(t *testing.T) {
	t.Parallel()
	rules := []Rule{
		{Command: "git *", Decision: Allow},
		{Command: "git push *", Decision: Ask, Reason: "first"},
		{Command: "git push --force *", Decision: Deny, Reason: "never"},
		{Command: "sudo *", Decision: Deny},
		{Command: "bash *", Decision: Deny},
	}
	for command, want := range map[string]Decision{
		"git log":                            Allow,
		"git log; git push":                  Ask,
		"git push; git log | make":           Ask,
		"echo $(git push --force)":           Deny,
		"git push --force $x":                Deny,
		"git push $x --force":                Ask,
		"git $x":                             Ask,
		"sudo git log":                       Deny,
		"sudo -X git log":                    Deny,
		"bash -c 'git log'":                  Deny,
		"echo git log | bash":                Deny,
		"nohup bash <<EOF\ngit log\nEOF":     Deny,
		"git log\n)\n":                       Ask,
		"git push --force\n)\n":              Deny,
		"ls | xargs -n1 git push --force":    Deny,
		"find . -exec git push --force {} +": Deny,
		"":                                   Allow,
	} {
		decision, parts := Policy{Rules: rules}.Decide(command)
		assert.Equal(t, want, decision, "%q: %v", command, parts)
	}
	decision, parts := Policy{Rules: rules}.Decide("git push --force")
	assert.Equal(t, Deny, decision)
	assert.Equal(t, "never", parts[0].Rule.Reason)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][3]Decision{ // with the default Ask, Allow, Deny
		"make":        {Ask, Allow, Deny},
		"timeout 5 a": {Ask, Allow, Deny},
		"make $x":     {Ask, Ask, Deny},
		"ls":          {Allow, Allow, Allow},
	} {
		for i, def := range []Decision{"", Allow, Deny} {
			decision, _ := Policy{Rules: Reading, Default: def}.Decide(command)
			assert.Equal(t, want[i], decision, "%q, default %q", command, def)
		}
	}
}

// show writes parts as one line: words with bars between them, ? for unknown.
func show(parts []Part) string {
	var all []string
	for _, part := range parts {
		text := strings.Join(part.Words, " ")
		if part.Unknown != "" {
			text = "?" + strings.Join(part.begins, " ")
		}
		all = append(all, text)
	}
	return strings.Join(all, " | ")
}

func TestParts(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"a b; c && d | e &":                        "a b | c | d | e",
		"if a; then b; elif c; then d; else e; fi": "a | b | c | d | e",
		"for x in $(a); do b; done":                "a | b",
		"case $(a) in b) c;; *) d;; esac":          "a | c | d",
		"(a; { b; }); ! c; time d":                 "a | b | c | d",
		"f() { a; }; f x":                          "a | f x",
		"ls() { a; }; ls":                          "a | ? | ls",
		"echo a'b c'\"d\"\\ e $'\\x66\\''":         "echo ab cd e f'",
		"a > b 2>> c &> d >| e <> f":               "> b | > c | > d | > e | > f | a",
		"a 2>&1 >/dev/null <&- <b <<<c":            "a",
		"a > $b":                                   "?> | a",
		"a $b $(c)":                                "c | ?a",
		"a *.go":                                   "?a",
		"a ~ ~/b 'c*'":                             "a ~ ~/b c*",
		"$a b":                                     "?",
		"sudo -u b c d":                            "sudo -u b c d | c d",
		"sudo -e f":                                "?sudo -e f",
		"env A=b c":                                "?env A=b c",
		"A=b c":                                    "? | c",
		"env CI=true timeout -k 1 5 c $d":          "env CI=true timeout -k 1 5 c | timeout -k 1 5 c | ?c",
		"timeout $t c":                             "?timeout",
		"a | xargs -n 1 b -c":                      "a | xargs -n 1 b -c | ?b -c",
		"find . -exec a {} ; -exec b {} +":         "find . -exec a {} | ?a {} | ?-exec b {} +",
		`find . -exec a {} \; -ok b {} +`:          "find . -exec a {} ; -ok b {} + | a {} | b {}",
		"find . -exec a '{}b' ';'":                 "find . -exec a {}b ; | ?a {}b",
		"bash -c 'a; b' c $d":                      "bash -c a; b c | a | b",
		"bash -euo pipefail -c 'a'":                "bash -euo pipefail -c a | a",
		"bash -c \"$a\"":                           "?bash -c",
		"bash a.sh":                                "bash a.sh",
		"sh <<A\na\nA\n":                           "sh | a",
		"sh -c 'a <(b)'":                           "sh -c a <(b) | b | a /dev/fd/63 | ?",
		"cat <<A\n$(b)\nA\n":                       "b | cat",
		"cat <<'A'\n$(b)\nA\n":                     "cat",
		"cd a; ./b; c > d; e > /f":                 "cd a | ?./b | ?> d | c | > /f | e",
		"x=1 y=$(a); z[3]=b":                       "a",
		"a; b)":                                    "a | ?",
		"eval a":                                   "?eval a",
		"/usr/bin/a /usr/bin/b":                    "a /usr/bin/b",
		"coproc a":                                 "? | a",
		"":                                         "",
	} {
		assert.Equal(t, want, show(Parts(command)), "%q", command)
	}
	parts := Parts("ls > a/b")
	assert.Equal(t, "a/b", parts[0].Writes)
	assert.Equal(t, []string{"ls"}, parts[1].Words)
}

// nesting are pieces whose repetition makes parsers slow or deep.
var nesting = []string{
	"(", "{ ", "$(", "`", "((", "$((", "$((-", "if ", "! ", "a[", "${a:-", "\"$(", "<<a\n", "<(", "case x in x) ", "while ", "f() ", "time ",
	"[[ ( ", "[[ ! ", "a=(", "@(", "a&&", "a|", "$((a?", "x <<E;", "coproc ", "export a=$(", "$[", "for((;;)) {", "env ", "sudo ", "timeout 5 ",
	"bash -c '", "sh <<A\n", "sh -c \"", "find -exec ", "xargs ", "a;", "a $x;", "a>b ", "a>$(", "{x}>$(", "declare a=$(b) ", "declare $x ",
	"a=b ", "a b$c ", "a #\\\n", "\\\n", "'", "\"", "[[ a =~ $(", "${a[$(", "a{b,", "{0", "<<A <<B ", "f(){ a;};", "x\n", "cat <<A\nb\nA\n",
}

// checkParts takes a command apart and reports what must not be, whatever the command is.
func checkParts(t *testing.T, command string) {
	t.Helper()
	began := time.Now()
	parts := Parts(command)
	assert.Less(t, time.Since(began), time.Minute, "it hangs: %.100q", command) // 0.5 s are usual at the most
	for _, part := range parts {
		assert.Equal(t, part.Unknown == "", len(part.Words) > 0, "%v", part)
	}
	decision, _ := Policy{Rules: []Rule{{Command: "*", Decision: Allow}}, Default: Allow}.decide(parts, nil)
	for _, part := range parts {
		if part.Unknown != "" {
			assert.NotEqual(t, Allow, decision, "%v", part)
		}
	}
}

func TestPartsTakeTimeInProportion(t *testing.T) {
	t.Parallel()
	for _, piece := range nesting {
		checkParts(t, strings.Repeat(piece, maxCommand/len(piece)))
		checkParts(t, strings.Repeat(piece, 1000)+"rm x"+strings.Repeat(")", 1000))
	}
	nested := "rm x"
	for i := range 30 { // each within the here-document of the other
		nested = fmt.Sprintf("sh <<'A%d'\n%s\nA%d\n", i, nested, i)
	}
	checkParts(t, nested)
	checkParts(t, strings.Repeat("a", maxCommand+1))
}

// No input makes Parts panic or hang, alone or repeated, and what is unknown is never allowed.
func FuzzParts(f *testing.F) {
	for _, piece := range nesting {
		f.Add(piece)
	}
	for _, fragment := range append(fragments, contexts...) {
		f.Add(fragment)
	}
	f.Fuzz(func(t *testing.T, command string) {
		checkParts(t, command)
		if command != "" {
			checkParts(t, strings.Repeat(command, 1+8<<10/len(command)))
		}
	})
}

func TestTighten(t *testing.T) {
	t.Parallel()
	place := func(names ...string) []string { return names }
	for _, c := range []struct{ a, b, both shared.Confine }{
		{shared.Confine{NoNetwork: true, BestEffort: true}, shared.Confine{ReadOnly: true, Writable: place("/a")},
			shared.Confine{NoNetwork: true, ReadOnly: true, Writable: place("/a")}},
		{shared.Confine{ReadOnly: true, Writable: place("/a", "/b")}, shared.Confine{ReadOnly: true, Writable: place("/b", "/c")},
			shared.Confine{ReadOnly: true, Writable: place("/b", "/b")}},
		{shared.Confine{Private: true, Readable: place("/a")}, shared.Confine{ReadOnly: true, Writable: place("/a", "/b")},
			shared.Confine{ReadOnly: true, Private: true, Writable: place("/a"), Readable: place("/a", "/a")}},
		{shared.Confine{Private: true, Readable: place("/a", "/b")}, shared.Confine{Private: true, Readable: place("/b")},
			shared.Confine{Private: true, Readable: place("/b", "/b")}},
	} {
		assert.Equal(t, &c.both, tighten(&c.a, &c.b))
	}
	a := &shared.Confine{NoNetwork: true}
	assert.Same(t, a, tighten(a, nil))
	assert.Same(t, a, tighten(nil, a))
	assert.Nil(t, tighten(nil, nil))
}

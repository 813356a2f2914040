//go:build unix

package policy

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	rounds = flag.Int("rounds", 2000, "how many commands TestPartsReadsAsBashReads makes")
	seed   = flag.Int64("seed", 1, "the first seed of TestPartsReadsAsBashReads")
)

// fragments are commands, contexts are where one may stand (@), and tokens are thrown into them.
var (
	fragments = []string{
		"ls -l", "git diff a", "rm x", `echo "a b" 'c'`, "f() { ls; }", "f", "if ls; then rm x; fi",
		"for i in 1 2; do ls; done", "case x in a|b) ls;; esac", "(ls; rm x)", "{ ls; rm x; }", "x=1", "a=(b c)",
		"[[ -f a && b == c ]]", "((1+2))", "echo $(ls) a", "echo `rm x`", "cat <(ls) >(rm x)", "ls > out 2>&1",
		"bash -c 'ls; rm x'", "# comment", "while ls; do rm x; done", "time ls", "! ls", "ls \\\n -a", "x=$(ls)",
		`x="$(ls "a")"`, `echo $'a\'b'`, "x=${y:-$(ls)}", "[[ a =~ b ]]", `sh -c "rm x"`, "timeout 5 ls",
		"function g { ls; }", "ls &", "x=\"`ls`\"", "ls <&- 2>&1", "ls &>x", "a[1]=2", `[[ -n "$(ls)" ]]`,
		"case $(ls) in (a) rm x;; esac", `echo "${x:-"$(ls)"}"`,
		"if [ -f a ]; then ls; elif rm x; then f; else ls; fi", "for ((;1;)); do ls; done", "ls >| x >> y",
	}
	contexts = []string{
		"@", "(@)", "{ @; }", "echo $(@)", "x=`@`", "f() { @; }; f", "if @; then ls; fi", `x="$(@)"`,
		"bash -c '@'", "x=${y:-$(@)}", "[[ $(@) ]]", "diff <(@)", "cat <<Q\n$(@)\nQ\n", "cat <<'Q'\n@\nQ\n",
		"bash <<'Q'\n@\nQ\n",
	}
	tokens = []string{
		"ls", "'", `"`, `\`, "\n", "\\\n", "#", " ", "\t", ";", "&&", "&", "|", "||", "|&", "(", ")", "{ ",
		"; }", "{", "}", "$(", "`", "$((", "))", "((", "[[ ", " ]]", "<<EOF\n", "\nEOF\n", "<<'E'\n", "\nE\n",
		"EOF", "<<<", "<(", ">(", ">", "2>&1", "&>", "f() { ", "if ", "; then ", "; fi", "do ", "case x in ",
		"a) ", ";;", " esac", "! ", "time ", "coproc ", "$'", `\'`, "$x", "${x}", "${x:-", "${", `"$(`,
		"function g ", "=", "[", "]", "*", "~", "-", "--", "bash -c '", "# c\n", " # x", "$", "a#b", "@(", "!(",
		`\ `, `\;`, "{a,b}", ">&2", ">&", "<&", "0", "3<", "select ", "declare a=(", "a[1]=2", "let 1", "$[1]",
		`\\`, "\\`", `\$(`, `\"`, `$"`, "<>", "{fd}>", "\x0b", "\f", "é",
	}
)

// random makes a command out of fragments, with a few tokens thrown in or a byte left out.
func random(r *rand.Rand) string {
	pick := func(from []string) string { return from[r.Intn(len(from))] }
	command := pick(fragments)
	for range r.Intn(3) {
		command += pick([]string{"; ", "\n", " && ", " | ", " || ", " & ", " "}) + pick(fragments)
	}
	command = strings.Replace(pick(contexts), "@", command, 1)
	for range r.Intn(4) {
		at := r.Intn(len(command) + 1)
		if at == len(command) || r.Intn(4) > 0 {
			command = command[:at] + pick(tokens) + command[at:]
		} else {
			command = command[:at] + command[at+1:]
		}
	}
	return command
}

// A command of which Parts knows all has the simple commands that bash's own parser finds in it.
func TestPartsReadsAsBashReads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "command")
	compared := 0
	for i := range *rounds {
		command := random(rand.New(rand.NewSource(*seed + int64(i))))
		mine, known := wordsOf(Parts(command))
		if !known || strings.Count(command, "<<") > 1 {
			continue
		}
		require.NoError(t, os.WriteFile(file, []byte(command), 0o600))
		printed, ok := pretty(file)
		if !ok {
			continue
		}
		theirs, known := wordsOf(Parts(printed))
		if !known && (strings.Contains(theirs[0], "syntax error") || strings.Contains(theirs[0], "lines joined")) {
			continue
		}
		compared++
		assert.Equal(t, mine, theirs, "%q is to bash\n%q", command, printed)
	}
	t.Log(compared, "commands compared")
	assert.Greater(t, compared, *rounds/20)
}

// pretty returns a command as bash prints it, without running it; false: it is no command to bash.
func pretty(file string) (string, bool) {
	cmd := exec.Command("bash", "--pretty-print", file)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	return string(printed), err == nil && !strings.Contains(stderr.String(), "error") &&
		!strings.Contains(stderr.String(), "unexpected")
}

// wordsOf returns the words of all parts, sorted, or the reason of the first unknown one.
func wordsOf(parts []Part) (all []string, known bool) {
	for _, part := range parts {
		if part.Unknown != "" {
			return []string{part.Unknown}, false
		}
		all = append(all, fmt.Sprintf("%q", part.Words))
	}
	slices.Sort(all)
	return all, true
}

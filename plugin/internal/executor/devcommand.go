package executor

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// devCommands are the programs that ModeAuto takes for development commands:
// servers, watchers, builds and tests.
var devCommands = []string{
	"npm", "pnpm", "yarn", "node", "python", "python3", "go", "cargo", "make",
	"docker", "webpack", "vite", "jest", "pytest",
}

// isDevCommand reports whether a command runs a development command, alone or
// among others. It parses the text as bash would, but evaluates nothing: it does
// not know the values of variables and substitutions.
func isDevCommand(command string) bool {
	return slices.ContainsFunc(programs(command), func(program string) bool {
		program = strings.ToLower(program)
		return slices.Contains(devCommands, program) ||
			slices.Contains(devCommands, strings.TrimRight(program, ".0123456789")) // python3.11
	})
}

// programs returns the names of the programs that the simple commands run, and of
// those that a shell among them runs with -c. It stops at a syntax error.
func programs(command string) []string {
	var names []string
	for statement, err := range syntax.NewParser().StmtsSeq(strings.NewReader(command)) {
		if err != nil {
			break
		}
		syntax.Walk(statement, func(node syntax.Node) bool {
			switch node := node.(type) {
			case *syntax.Assign, *syntax.Redirect, *syntax.Word:
				return false
			case *syntax.CallExpr:
				names = append(names, called(node)...)
			}
			return true
		})
	}
	return names
}

// called returns the same as programs, for one simple command.
func called(call *syntax.CallExpr) []string {
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		words[i] = literal(word.Parts)
	}
	name, arguments := program(words)
	switch {
	case name == "":
		return nil
	case slices.Contains(shells, name):
		return append([]string{name}, programs(argumentOfC(arguments))...)
	}
	return []string{name}
}

// literal returns a word without its quotes. A substitution becomes a $, so that
// the rest of the word is not taken for a program's name.
func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(part.Parts))
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

var shells = []string{"bash", "sh", "dash", "zsh", "ksh"}

// argumentOfC returns the command that a shell gets with -c, "" if there is none.
func argumentOfC(arguments []string) string {
	rest := skipOptions(arguments, []string{"-o", "-O", "--rcfile", "--init-file"})
	given := slices.ContainsFunc(arguments[:len(arguments)-len(rest)], func(option string) bool {
		return strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.Contains(option, "c")
	})
	if !given || len(rest) == 0 {
		return ""
	}
	return rest[0]
}

// wrappers run the command that follows their options.
var wrappers = map[string]struct {
	valued   string // options that take the next word
	operands int    // words between the options and the command
}{
	"command": {valued: "-v -V"}, // with these options it runs nothing
	"env":     {valued: "-u --unset -C --chdir"},
	"exec":    {valued: "-a"},
	"nice":    {valued: "-n --adjustment"},
	"nohup":   {},
	"sudo": {valued: "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot " +
		"-r --role -t --type -T --command-timeout -U --other-user"},
	"time":    {valued: "-f --format -o --output"},
	"timeout": {valued: "-s --signal -k --kill-after", operands: 1},
}

// program skips assignments and wrappers. It returns the program that a simple command
// runs, without its path, and its arguments; "" if there is none.
func program(words []string) (name string, arguments []string) {
	for len(words) > 0 {
		name := words[0][strings.LastIndexByte(words[0], '/')+1:]
		wrapper, wraps := wrappers[name]
		switch {
		case isAssignment(words[0]):
			words = words[1:]
		case wraps:
			words = skipOptions(words[1:], strings.Fields(wrapper.valued))
			words = words[min(wrapper.operands, len(words)):]
		default:
			return name, words[1:]
		}
	}
	return "", nil
}

// skipOptions drops leading options; those in valued take a value.
func skipOptions(words, valued []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		option := words[0]
		words = words[1:]
		if option == "--" {
			break
		}
		if takesNext(option, valued) {
			words = words[min(1, len(words)):]
		}
	}
	return words
}

// takesNext reports whether an option, or the last of a cluster like -Eu, has
// its value in the next word.
func takesNext(option string, valued []string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.Contains(valued, option)
	}
	for i, letter := range option[1:] {
		if slices.Contains(valued, "-"+string(letter)) {
			return i == len(option)-2 // otherwise the rest of the word is the value
		}
	}
	return false
}

// isAssignment reports whether a word is an assignment, for example for env.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(name)
}

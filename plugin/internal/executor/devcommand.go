package executor

import (
	"slices"
	"strings"
)

// devCommands are the programs that ModeAuto takes for development commands:
// servers, watchers, builds and tests.
var devCommands = []string{
	"npm", "pnpm", "yarn", "node", "python", "python3", "go", "cargo", "make",
	"docker", "webpack", "vite", "jest", "pytest",
}

// isDevCommand reports whether a command runs a development command, alone or
// among others. It reads the text like a shell, but evaluates nothing: what
// comes out of a variable or a substitution is not seen.
func isDevCommand(command string) bool {
	return slices.ContainsFunc(programs(command), func(program string) bool {
		program = strings.ToLower(program)
		return slices.Contains(devCommands, program) ||
			slices.Contains(devCommands, strings.TrimRight(program, ".0123456789")) // python3.11
	})
}

// programs returns the name of the program that each simple command runs, and
// what a shell among them runs with -c.
func programs(command string) []string {
	var names []string
	for _, words := range simpleCommands(command) {
		if name, arguments := program(words); name != "" {
			names = append(names, name)
			if slices.Contains(shells, name) {
				names = append(names, programs(argumentOfC(arguments))...)
			}
		}
	}
	return names
}

var shells = []string{"bash", "sh", "dash", "zsh", "ksh"}

// argumentOfC returns the command that a shell's arguments give it, "" where
// they give none.
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

// keywords may stand before what a simple command runs.
var keywords = []string{"{", "}", "!", "if", "then", "elif", "else", "while", "until", "do"}

// wrappers run the command that follows their options.
var wrappers = map[string]struct {
	valued   string // options that take the next word
	operands int    // words between the options and the command
}{
	"command": {valued: "-v -V"}, // these run nothing
	"env":     {valued: "-u --unset -C --chdir"},
	"exec":    {valued: "-a"},
	"nice":    {valued: "-n --adjustment"},
	"nohup":   {},
	"sudo":    {valued: "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -r --role -t --type -T --command-timeout -U --other-user"},
	"time":    {valued: "-f --format -o --output"},
	"timeout": {valued: "-s --signal -k --kill-after", operands: 1},
}

// program returns the program that a simple command runs, without its path,
// past keywords, assignments and wrappers, and its arguments; "" where there is
// none.
func program(words []string) (name string, arguments []string) {
	for len(words) > 0 {
		name := words[0][strings.LastIndexByte(words[0], '/')+1:]
		wrapper, wraps := wrappers[name]
		switch {
		case slices.Contains(keywords, words[0]) || isAssignment(words[0]):
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

// isAssignment reports whether a word is one, as in A=1, A+=1 and A[0]=1.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

package policy

import (
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program that runs the command in its words.
type wrapper struct {
	flags    string // other options
	valued   string // options with a value
	operands int    // words before the command
	assigns  bool   // NAME=VALUE words come first

	// appends says what it adds to the command's words; "": nothing.
	appends string

	// rights is set if it changes what the command may do: it has to be allowed itself.
	rights bool
}

var wrappers = map[string]wrapper{
	"builtin": {},
	"command": {},
	"doas":    {flags: "-n", valued: "-u", rights: true},
	"env":     {assigns: true},
	"exec":    {},
	"ionice":  {valued: "-c -n"},
	"nice":    {valued: "-n --adjustment"},
	"nohup":   {},
	"setsid":  {flags: "-w --wait"},
	"stdbuf":  {valued: "-i -o -e"},
	"sudo":    {flags: "-n -E -H", valued: "-u --user -g --group", assigns: true, rights: true},
	"time":    {flags: "-p"},
	"timeout": {flags: "--foreground --preserve-status", valued: "-s --signal -k --kill-after", operands: 1},
	"xargs": {
		flags:   "-0 -r -t -x --null --no-run-if-empty",
		valued:  "-n -P -I -L -d --max-args --max-procs --max-lines --delimiter",
		appends: "it also gets the words that xargs reads",
	},
}

var (
	shells = []string{"bash", "sh", "dash"}
	movers = []string{"cd", "pushd", "popd"}

	// anything are commands whose words can run or change anything.
	anything = strings.Fields(`. ash alias bind busybox compgen complete compopt coproc csh declare enable eval
		export fc fish getopts hash ksh let local mapfile mksh read readarray readonly shopt source tcsh toybox trap
		typeset unset zsh`)

	// builtins are further commands of bash whose names no function may take.
	builtins = strings.Fields(`: [ bg break caller continue dirs disown echo exit false fg help history jobs kill logout
		printf pwd return set shift suspend test times true type ulimit umask unalias wait`)
)

// isCommand reports whether a name is one of a command that this package knows.
func isCommand(name string) bool {
	_, wraps := wrappers[name]
	return wraps || slices.Contains(shells, name) || slices.Contains(movers, name) || slices.Contains(anything, name) ||
		slices.Contains(builtins, name) || slices.ContainsFunc(readers, func(r reader) bool {
		return strings.Fields(r.command)[0] == name
	})
}

// unreadable says why a command's words do not tell what it does; "": they do.
func unreadable(words []string) string {
	name := words[0]
	arguments := words[1:]
	has := func(options ...string) bool {
		return slices.ContainsFunc(arguments, func(word string) bool { return slices.Contains(options, word) })
	}
	dashed := len(arguments) > 0 && strings.HasPrefix(arguments[0], "-")
	switch {
	case slices.Contains(anything, name):
		return "it can run or change anything"
	case name == "printf" && dashed && arguments[0] != "--", name == "wait" && dashed, name == "jobs" && dashed,
		(name == "test" || name == "[") && has("-v", "-R"), name == "set" && !harmlessSet(arguments):
		return "with these options it can run or change anything"
	case strings.HasPrefix(name, "-"), name == ">", strings.Contains(name, "{}"), name == procSubst, climbs(name):
		return "no name of a program that can be told"
	}
	return ""
}

// harmlessSet reports whether set only makes bash stop earlier or show what it does.
func harmlessSet(arguments []string) bool {
	rest, _, ok := shellOptions(arguments)
	return ok && len(rest) == 0
}

// shellOptions returns the words after a shell's options, and whether -c is among them. It returns
// false if there are options that change more than when the shell ends and what it shows.
func shellOptions(words []string) (rest []string, command, ok bool) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") && words[0] != "-" {
		option := words[0]
		words = words[1:]
		if strings.Trim(option[1:], "ceuxo") != "" {
			return nil, false, false
		}
		command = command || strings.Contains(option, "c")
		for range strings.Count(option, "o") {
			if len(words) == 0 || !slices.Contains([]string{"pipefail", "errexit", "nounset"}, words[0]) {
				return nil, false, false
			}
			words = words[1:]
		}
	}
	return words, command, len(words) == 0 || !strings.HasPrefix(words[0], "+")
}

// shell adds a shell, and what it runs: the argument of -c, a here-document, or a file.
func (w *walker) shell(words []string, open string, fed *input) {
	rest, command, ok := shellOptions(words[1:])
	switch {
	case !ok:
		w.unknown(words, "a shell with options that change what it runs")
	case len(rest) == 0 && open != "":
		w.unknown(words, "%s", open)
	case command && len(rest) > 0:
		w.parts = append(w.parts, Part{Words: words, wraps: true})
		w.feed(words[0], rest[0])
	case len(rest) == 0 && !command && fed != nil:
		w.parts = append(w.parts, Part{Words: words, wraps: true})
		w.feed(words[0], fed.text)
	case len(rest) == 0, rest[0] == "-", strings.HasPrefix(rest[0], "/dev/"), strings.HasPrefix(rest[0], "/proc/"):
		w.unknown(words, "a shell that runs what it reads")
	default:
		w.simple(Part{Words: words}, open)
	}
}

// feed walks the text that a shell runs. Where sh is no bash, it reads some of it differently.
func (w *walker) feed(shell, text string) {
	switch {
	case shell == "bash":
		w.script(text, syntax.LangBash)
		return
	case w.sh != 0: // the walks of an outer sh are compared
		w.script(text, w.sh)
		return
	}
	before := len(w.parts)
	w.sh = syntax.LangBash
	w.script(text, syntax.LangBash)
	w.sh = 0
	posix := walker{nested: w.nested, sh: syntax.LangPOSIX}
	posix.script(text, syntax.LangPOSIX)
	if !reflect.DeepEqual(w.parts[before:], posix.parts) {
		w.unknown(nil, "%s: bash and %s read it differently", quote(text), shell)
	}
}

// wrapped adds a command that runs the command in its words, and that.
func (w *walker) wrapped(wrapper wrapper, words []string, open string, fed *input) {
	part := Part{Words: words, wraps: !wrapper.rights}
	prints := words[0] == "command" && len(words) > 1 && (words[1] == "-v" || words[1] == "-V")
	if len(words) == 1 || prints {
		part.wraps = false
		w.simple(part, open)
		return
	}
	rest, ok := wrapper.skip(words[1:])
	if !ok {
		w.unknown(words, "its options, or the variables that it sets, can change what it runs")
		return
	}
	if wrapper.rights {
		w.simple(part, open)
	} else {
		w.parts = append(w.parts, part)
	}
	if len(rest) == 0 && open == "" {
		return
	}
	if wrapper.appends != "" {
		open = wrapper.appends
	}
	w.run(rest, open, fed)
}

// skip returns the words of the command that a wrapper runs. It returns false if an option or an
// assignment before them is not known to change nothing.
func (r wrapper) skip(words []string) ([]string, bool) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		option := words[0]
		words = words[1:]
		if option == "--" {
			break
		}
		name, _, attached := strings.Cut(option, "=")
		if !strings.HasPrefix(option, "--") {
			name = option[:min(2, len(option))]
			attached = len(option) > 2
		}
		valued := slices.Contains(strings.Fields(r.valued), name)
		switch {
		case valued && attached:
		case valued && len(words) > 0:
			words = words[1:]
		case !slices.Contains(strings.Fields(r.flags), option):
			return nil, false
		}
	}
	for r.assigns && len(words) > 0 && strings.Contains(words[0], "=") {
		name, value, _ := strings.Cut(words[0], "=")
		if !isMild(name, value) {
			return nil, false
		}
		words = words[1:]
	}
	return words[min(r.operands, len(words)):], true
}

// find adds find, and the commands that its actions run. Their {} is a path that begins as one of find's
// own operands does, and so is never an option.
func (w *walker) find(words []string, open string) {
	w.simple(Part{Words: words}, open)
	w.moves = w.moves || slices.Contains(words, "-execdir") || slices.Contains(words, "-okdir")
	_, commands, ended := actions(words)
	for i, command := range commands {
		within := func(word string) bool { return word != "{}" && strings.Contains(word, "{}") }
		switch {
		case slices.ContainsFunc(command, within):
			w.unknown(command, "the names of files become part of its words")
		case i == len(commands)-1 && !ended:
			w.run(command, "it has no end", nil)
		default:
			w.run(command, "", nil)
		}
	}
}

// actions returns the words of find without those that its actions run, and those. It returns false
// if the last action has no end.
func actions(words []string) (rest []string, commands [][]string, ended bool) {
	begin := 0 // of an action's command; 0: in none
	for i, word := range words {
		switch {
		case begin == 0:
			rest = append(rest, word)
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, word) {
				begin = i + 1
			}
		case word == ";", word == "+" && words[i-1] == "{}":
			commands = append(commands, words[begin:i])
			begin = 0
		}
	}
	if begin > 0 {
		commands = append(commands, words[begin:])
	}
	return rest, commands, begin == 0
}

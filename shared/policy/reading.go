package policy

import (
	"regexp"
	"slices"
	"strings"
)

// Reading has rules that allow what only reads files and tells about them: ls, cat, grep, rg, sort,
// git status, diff, log and show, find, sed -n and the like.
//
// A rule of Reading allows only the options that are known to read, which its Command does not show:
// git diff --output=FILE, find -delete, sort -o and rg --pre are not among them. Rules that are
// written out and read again have lost that: keep what Guard.Learned returns, and not these.
//
// What reads may read everything: secrets too, unless a Confine has Private.
var Reading []Rule = readingRules()

func readingRules() []Rule {
	rules := make([]Rule, len(readers)) // without room, so that nobody appends to another's rules
	for i, r := range readers {
		rules[i] = Rule{Command: r.command, Decision: Allow, Reason: "it only reads", only: r.allows}
	}
	return rules
}

// reader is a command that only reads, with the options that it may have. Every word that begins
// with a dash is taken for an option, so that it does not matter which options have values.
type reader struct {
	command string
	letters string // of short options; "*": any words
	names   string // of long options

	// only, if not nil, reports whether the words after the name only read.
	only func([]string) bool
}

const (
	diffLetters = "abBcCDefFgGiIlLmMnNpPrRsStuUvwWzE0123456789"
	diffNames   = `--stat --numstat --shortstat --name-only --name-status --cached --staged --color --no-color
		--color-words --word-diff --no-ext-diff --no-textconv --no-index --no-renames --find-renames --find-copies
		--diff-filter --summary --patch --no-patch --raw --unified --function-context --ignore-all-space
		--ignore-space-change --ignore-blank-lines --minimal --patience --histogram --diff-algorithm --exit-code --quiet
		--check --full-index --abbrev --relative --no-prefix --merge-base --text --compact-summary`
	logNames = diffNames + ` --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --format
		--pretty --date --since --until --after --before --author --committer --grep --max-count --skip --reverse
		--first-parent --merges --no-merges --follow --abbrev-commit --left-right --cherry-pick --topo-order
		--date-order --no-walk --full-history --not --source --root`
	grepNames = `--include --exclude --exclude-dir --color --context --after-context --before-context --count
		--extended-regexp --fixed-strings --perl-regexp --ignore-case --invert-match --line-number --files-with-matches
		--files-without-match --max-count --no-filename --with-filename --no-messages --only-matching --quiet
		--recursive --regexp --word-regexp --line-regexp --null --text`
	rgNames = grepNames + ` --glob --iglob --type --type-not --hidden --no-ignore --smart-case --case-sensitive --files
		--count-matches --heading --no-heading --json --max-depth --max-columns --multiline --replace --sort --stats
		--trim --type-list`
	grepLetters = "aAbBcCdDeEfFGhHiIlLmnoPqrRsTUvVwxyz0123456789"
)

var readers = []reader{
	{command: ": *", letters: "*"},
	{command: `\[ *`, letters: "*"},
	{command: "basename *", letters: "*"},
	{command: "cat *", letters: "*"},
	{command: "cd *", letters: "*"},
	{command: "cmp *", letters: "*"},
	{command: "comm *", letters: "*"},
	{command: "command *", letters: "*"}, // with -v or -V: otherwise its command is a part
	{command: "cut *", letters: "*"},
	{command: "date *", letters: "uRI", names: "--utc --date --iso-8601 --rfc-3339", only: formats},
	{command: "df *", letters: "*"},
	{command: "diff *", letters: "abBcCdeEfFhiILnNpqrsStTuUvwWxXyZ0123456789", names: `--brief --color --exclude
		--recursive --side-by-side --suppress-common-lines --unified --ignore-all-space --ignore-case`},
	{command: "dirname *", letters: "*"},
	{command: "du *", letters: "*"},
	{command: "echo *", letters: "*"},
	{command: "egrep *", letters: grepLetters, names: grepNames},
	{command: "env"},
	{command: "exit *", letters: "*"},
	{command: "false *", letters: "*"},
	{command: "fgrep *", letters: grepLetters, names: grepNames},
	{command: "file *", letters: "bhikLprs0", names: "--brief --mime --mime-type --mime-encoding"},
	{command: "find *", only: finds},
	{command: "git --no-pager diff *", letters: diffLetters, names: diffNames},
	{command: "git --no-pager log *", letters: diffLetters, names: logNames},
	{command: "git --no-pager show *", letters: diffLetters, names: logNames},
	{command: "git blame *", letters: "bcCeflLMnpstw0123456789", names: "--date --porcelain --line-porcelain"},
	{command: "git branch *", letters: "arv", names: "--all --list --remotes --show-current", only: isAlone},
	{command: "git diff *", letters: diffLetters, names: diffNames},
	{command: "git log *", letters: diffLetters, names: logNames},
	{command: "git ls-files *", letters: "cdmoiksutvzfxX", names: `--cached --deleted --modified --others
		--exclude-standard`},
	{command: "git remote *", letters: "v", only: isAlone},
	{command: "git rev-parse *", letters: "q", names: `--abbrev-ref --short --verify --show-toplevel --git-dir
		--is-inside-work-tree --show-prefix`},
	{command: "git show *", letters: diffLetters, names: logNames},
	{command: "git status *", letters: "abklmnorsuvz", names: `--branch --ignored --long --porcelain --short
		--untracked-files`},
	{command: "grep *", letters: grepLetters, names: grepNames},
	{command: "head *", letters: "*"},
	{command: "hostname"},
	{command: "id *", letters: "*"},
	{command: "ls *", letters: "*"},
	{command: "md5sum *", letters: "*"},
	{command: "nl *", letters: "*"},
	{command: "nproc *", letters: "*"},
	{command: "od *", letters: "*"},
	{command: "paste *", letters: "*"},
	{command: "printenv *", letters: "*"},
	{command: "printf *", letters: "*"},
	{command: "ps *", letters: "*"},
	{command: "pwd *", letters: "*"},
	{command: "readlink *", letters: "*"},
	{command: "realpath *", letters: "*"},
	{command: "rg *", letters: "aAbBcCeEFfgHiIlLmMnNoPqrsStTuUvwx0123456789.", names: rgNames},
	{command: "sed *", letters: "nErsuz", only: prints},
	{command: "seq *", letters: "*"},
	{command: "set *", letters: "*"}, // with options that change nothing: others are unknown
	{command: "sha256sum *", letters: "*"},
	{command: "sleep *", letters: "*"},
	{command: "sort *", letters: "bcCdfghikMmnrRstuVz0123456789,.:", names: `--reverse --unique --numeric-sort
		--version-sort --human-numeric-sort --key --field-separator --ignore-case --check --stable --zero-terminated`},
	{command: "stat *", letters: "*"},
	{command: "tac *", letters: "*"},
	{command: "tail *", letters: "*"},
	{command: "tar *", letters: "tvzjJf", only: lists},
	{command: "test *", letters: "*"},
	{command: "tr *", letters: "*"},
	{command: "tree *", letters: "aCdDfFhIiLnNpPsu0123456789"},
	{command: "true *", letters: "*"},
	{command: "type *", letters: "*"},
	{command: "uname *", letters: "*"},
	{command: "uniq *", letters: "cdDfisuwz0123456789", only: isInput},
	{command: "wait *", letters: "*"},
	{command: "wc *", letters: "*"},
	{command: "which *", letters: "*"},
	{command: "whoami"},
}

// allows reports whether a command with these words, which the command of r matches, only reads.
func (r reader) allows(words []string) bool {
	arguments := words[1:]
	fixed := len(strings.Fields(strings.TrimSuffix(r.command, " *")))
	if r.only != nil && !r.only(arguments) {
		return false
	}
	if r.letters == "*" || r.command == "find *" {
		return true
	}
	return !slices.ContainsFunc(words[fixed:], func(word string) bool { return !r.option(word) })
}

// option reports whether a word is no option, or one that r may have.
func (r reader) option(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case !strings.HasPrefix(word, "-"), word == "--":
		return true
	case strings.HasPrefix(word, "--"):
		return slices.Contains(strings.Fields(r.names), name)
	}
	return strings.Trim(word[1:], r.letters) == ""
}

// operands returns the words that are no options.
func operands(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.HasPrefix(word, "-") })
}

// isInput reports whether uniq has one operand at most: the second is a file that it writes.
func isInput(words []string) bool { return len(operands(words)) <= 1 }

// isAlone reports whether a subcommand has no operands: another would change something.
func isAlone(words []string) bool { return len(operands(words)) == 1 }

// formats reports whether the operands of date are formats: another would set the clock.
func formats(words []string) bool {
	return !slices.ContainsFunc(operands(words), func(word string) bool { return !strings.HasPrefix(word, "+") })
}

var tests = strings.Fields(`-a -and -depth -empty -executable -exec -false -follow -group -H -iname -ipath -iregex -L
	-links -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -not -o -or -P -path -perm -print -print0 -printf
	-prune -quit -readable -regex -size -true -type -user -wholename -writable -xdev`)

// value is a number for a test of find.
var value = regexp.MustCompile(`^-[0-9]+[a-zA-Z]?$`)

// finds reports whether find only tests, prints, and runs commands, which are parts of their own.
func finds(words []string) bool {
	rest, _, ended := actions(words)
	return ended && !slices.ContainsFunc(rest, func(word string) bool {
		return strings.HasPrefix(word, "-") && !value.MatchString(word) && !slices.Contains(tests, word)
	})
}

// printing is a script of sed that prints, deletes and substitutes, without w, e and their like.
var printing = func() *regexp.Regexp {
	upTo := func(delimiter string) string {
		delimiter = regexp.QuoteMeta(delimiter)
		escape := `\\[^\na-zA-Z` + delimiter + `]|\\[nstwWbB]`
		class := `\[\^?(\[:[a-z]+:\]|[^][\\\n` + delimiter + `])+\]` // without the delimiter, which may end it or not
		return `([^[\\\n` + delimiter + `]|` + escape + `|` + class + `)*` + delimiter
	}
	commands := []string{"[pdqP=]"}
	for _, delimiter := range []string{"/", "|", ",", "#"} {
		commands = append(commands, "s"+regexp.QuoteMeta(delimiter)+upTo(delimiter)+upTo(delimiter)+"[gpiI0-9]*")
	}
	address := `([0-9]+|\$|/` + upTo("/") + `)`
	command := `(` + address + `(,\+?` + address + `)?!?)? ?(` + strings.Join(commands, "|") + `)`
	return regexp.MustCompile(`^` + command + `(; ?` + command + `)*;?$`)
}()

// prints reports whether the script of sed, its first operand, only prints.
func prints(words []string) bool {
	all := operands(words)
	return len(all) > 0 && printing.MatchString(all[0])
}

// lists reports whether tar lists an archive that is no other machine's.
func lists(words []string) bool {
	remote := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, ":") })
	mode := len(words) > 0 && strings.Contains(words[0], "t") && strings.Trim(words[0], "-tvzjJf") == ""
	return mode && !remote
}

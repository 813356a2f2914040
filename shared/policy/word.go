package policy

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// procSubst stands for the file that a process substitution is replaced by.
const procSubst = "/dev/fd/63"

// literal returns the text that bash makes of a word. It returns false if that is not certain: if
// the word has an expansion, a glob or braces.
func literal(word *syntax.Word) (string, bool) {
	if len(word.Parts) == 1 {
		_, isFile := word.Parts[0].(*syntax.ProcSubst)
		if isFile {
			return procSubst, true
		}
	}
	bare := ""
	for _, part := range word.Parts {
		lit, isLit := part.(*syntax.Lit)
		if isLit {
			bare += escaped.ReplaceAllString(lit.Value, "")
		} else if !isQuote(part) {
			return "", false
		}
	}
	if expands(bare) {
		return "", false
	}
	home, parts := tilde(word.Parts)
	if home == "" && strings.HasPrefix(bare, "~") {
		return "", false
	}
	// nil would be one configuration for all calls, which is not safe for concurrent use.
	fields, err := expand.Fields(new(expand.Config), &syntax.Word{Parts: parts})
	if err != nil || len(fields) > 1 {
		return "", false
	}
	text := strings.Join(fields, "")
	if home == "" && strings.HasPrefix(text, "~") { // it is quoted, and no rule could tell it from the other
		return "", false
	}
	return home + text, !strings.Contains(text, "\x00")
}

var (
	// escaped is a character that a backslash quotes.
	escaped = regexp.MustCompile(`(?s)\\.`)

	// ansiC are the escapes in $'…' that all versions of bash agree about.
	ansiC = regexp.MustCompile(`^([^\\]|\\[\\'"nt]|\\x[0-7][0-9a-fA-F]|\\[01][0-7][0-7])*$`)
)

// isQuote reports whether a part of a word is quoted text, with nothing to be expanded in it.
func isQuote(part syntax.WordPart) bool {
	switch part := part.(type) {
	case *syntax.SglQuoted:
		return !part.Dollar || ansiC.MatchString(part.Value)
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			_, isLit := inner.(*syntax.Lit)
			if !isLit {
				return false
			}
		}
		return !part.Dollar // that is replaced by the locale's translation
	}
	return false
}

// tilde takes the unquoted tilde of ~ and ~/file off a word. Those of ~user and ~+ stay.
func tilde(parts []syntax.WordPart) (string, []syntax.WordPart) {
	if len(parts) == 0 {
		return "", nil
	}
	lit, ok := parts[0].(*syntax.Lit)
	if !ok || lit.Value != "~" && !strings.HasPrefix(lit.Value, "~/") || lit.Value == "~" && len(parts) > 1 {
		return "", parts
	}
	rest := []syntax.WordPart{&syntax.Lit{Value: lit.Value[1:]}}
	return "~", append(rest, parts[1:]...)
}

// expands reports whether bash may replace a word with this unquoted text by others: a glob or
// braces. In some locales bash takes a byte of a rune for a blank.
func expands(bare string) bool {
	if bare == "[" { // the command
		return false
	}
	open := strings.Count(bare, "{")
	braces := open > 1 || open == 1 && (strings.Contains(bare, ",") || strings.Contains(bare, ".."))
	blank := strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r == '\x7f' })
	return braces || blank || strings.ContainsAny(bare, "*?[") ||
		strings.Contains(bare, "\x85") || strings.Contains(bare, "\xa0")
}

package executor

import "strings"

// simpleCommands splits shell text into simple commands, and these into words
// without their quotes. Redirections and comments are left out, and so is what
// stands in a substitution: $(…), ${…}, `…`.
func simpleCommands(text string) [][]string {
	l := lexer{text: text}
	l.run()
	return l.commands
}

// lexer reads shell text from left to right.
type lexer struct {
	text     string
	pos      int
	commands [][]string

	words     []string // of the simple command being read
	word      strings.Builder
	inWord    bool     // word holds a word, perhaps an empty one
	target    string   // the operator of a redirection, whose target is the next word
	documents []string // delimiters of the here-documents that begin at the next line
}

func (l *lexer) run() {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		l.pos++
		switch c {
		case ' ', '\t':
			l.endWord()
		case '\n':
			l.endCommand()
			l.skipDocuments()
		case ';', '&', '|', '(', ')':
			l.endCommand()
		case '<', '>':
			l.redirect()
		case '#':
			if !l.inWord {
				l.skipTo("\n")
			} else {
				l.add("#")
			}
		default:
			l.part(c)
		}
	}
	l.endCommand()
}

// part reads what belongs to a word.
func (l *lexer) part(c byte) {
	switch c {
	case '\\':
		if next := l.rest(); next != "" && next[0] != '\n' {
			l.add(next[:1])
		}
		l.pos++
	case '\'':
		l.add(l.skipTo("'"))
	case '"':
		l.add(l.doubleQuoted())
	case '`':
		l.add("")
		l.skipTo("`")
	case '$':
		l.dollar()
	default:
		l.word.WriteByte(c)
		l.inWord = true
	}
}

func (l *lexer) rest() string { return l.text[min(l.pos, len(l.text)):] }

func (l *lexer) add(s string) {
	l.word.WriteString(s)
	l.inWord = true
}

// skipTo moves past the next end and returns what stands before it.
func (l *lexer) skipTo(end string) string {
	before, _, _ := strings.Cut(l.rest(), end)
	l.pos += len(before)
	if end != "\n" { // which ends the command, too
		l.pos += len(end)
	}
	return before
}

// doubleQuoted returns the text up to the closing quote.
func (l *lexer) doubleQuoted() string {
	var b strings.Builder
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		l.pos++
		switch c {
		case '"':
			return b.String()
		case '\\':
			if rest := l.rest(); rest != "" {
				b.WriteByte(rest[0])
			}
			l.pos++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// dollar reads what follows a $; a substitution becomes a $ in the word, so
// that the word is not taken for another.
func (l *lexer) dollar() {
	l.add("$")
	rest := l.rest()
	switch {
	case strings.HasPrefix(rest, "("):
		l.skipNested('(', ')')
	case strings.HasPrefix(rest, "{"):
		l.skipNested('{', '}')
	}
}

// skipNested moves past balanced brackets.
func (l *lexer) skipNested(open, shut byte) {
	for depth := 0; l.pos < len(l.text); {
		c := l.text[l.pos]
		l.pos++
		switch c {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return
			}
		case '\\':
			l.pos++
		case '\'':
			l.skipTo("'")
		case '"':
			l.doubleQuoted()
		}
	}
}

// redirect reads the operator of a redirection. A number before it belongs to
// it.
func (l *lexer) redirect() {
	if isNumber(l.word.String()) {
		l.word.Reset()
		l.inWord = false
	}
	l.endWord()
	start := l.pos - 1
	for l.pos < len(l.text) && strings.IndexByte("<>&|-", l.text[l.pos]) >= 0 {
		l.pos++
	}
	operator := l.text[start:l.pos]
	if !strings.HasSuffix(operator, "&-") && !strings.HasPrefix(l.rest(), "(") { // <(…) runs commands
		l.target = operator
	}
}

// skipDocuments moves past the here-documents that begin here.
func (l *lexer) skipDocuments() {
	for _, delimiter := range l.documents {
		for l.pos < len(l.text) {
			line := l.skipTo("\n")
			l.pos++
			if strings.TrimLeft(line, "\t") == delimiter {
				break
			}
		}
	}
	l.documents = nil
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (l *lexer) endWord() {
	switch {
	case !l.inWord:
		return
	case l.target == "<<" || l.target == "<<-":
		l.documents = append(l.documents, l.word.String())
	case l.target == "":
		l.words = append(l.words, l.word.String())
	}
	l.word.Reset()
	l.inWord, l.target = false, ""
}

func (l *lexer) endCommand() {
	l.endWord()
	l.target = ""
	if len(l.words) > 0 {
		l.commands = append(l.commands, l.words)
	}
	l.words = nil
}

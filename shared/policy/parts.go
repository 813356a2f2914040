package policy

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Part is one thing that a command would do: a simple command that it would run, or a file that a
// redirection would write.
type Part struct {
	// Words are the literal words of a simple command. The first is the name of the program, without
	// its folder if that is one of the system's. Those of a redirection are ">" and the file.
	Words []string

	Writes string // the file that a redirection writes

	// Unknown says why it cannot be told what this part does; "": it can. Words is nil then.
	Unknown string

	// begins has the words before the one that is unknown.
	begins []string

	// wraps is set if it only runs other parts: a rule may match it, but the default is not for it.
	wraps bool
}

// String returns the part for people: its words, or why it is unknown.
func (p Part) String() string {
	if p.Unknown != "" {
		return p.Unknown
	}
	return strings.Join(p.Words, " ")
}

const (
	maxCommand = 64 << 10
	maxNested  = 16 // commands within the words of commands
)

// Parts returns what a command would do, in the order of its text: what is within lists,
// pipelines, functions and substitutions, what programs such as env, timeout, sudo, xargs and find
// run, and what a shell gets by -c or a here-document.
//
// A command that is longer than 64 KiB, has a carriage return or is no valid UTF-8 is one unknown part.
func Parts(command string) []Part {
	switch {
	case len(command) > maxCommand:
		return []Part{{Unknown: "a command of more than 64 KiB"}}
	case strings.ContainsAny(command, "\r\x00") || !utf8.ValidString(command):
		return []Part{{Unknown: "a command with a carriage return, a NUL byte or invalid UTF-8"}}
	}
	var w walker
	w.script(command, syntax.LangBash)
	if w.moves {
		for i := range w.parts {
			w.parts[i].relative()
		}
	}
	return w.parts
}

// relative makes a part unknown if it names its program or its file from the directory where it runs,
// since cd changes that.
func (p *Part) relative() {
	file := p.Writes
	if file == "" && len(p.Words) > 0 && strings.Contains(p.Words[0], "/") {
		file = p.Words[0]
	}
	if file != "" && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "~") {
		*p = Part{Unknown: quote(file) + ": a relative path in a command that changes its directory", begins: p.Words}
	}
}

// walker collects the parts of a command.
type walker struct {
	parts     []Part
	moves     bool            // some part changes the directory
	nested    int             // how many words this text is within
	source    string          // the text that is walked
	functions map[string]bool // those that are defined for certain

	// sh is the language of sh within the text of an sh; 0: there is no outer one.
	sh syntax.LangVariant
}

// unknown adds a part that cannot be read.
func (w *walker) unknown(begins []string, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if len(begins) > 0 {
		why = quote(strings.Join(begins, " ")) + ": " + why
	}
	w.parts = append(w.parts, Part{Unknown: why, begins: begins})
}

// quote shortens text that a reason names.
func quote(text string) string {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return "`" + text + "`"
}

// text returns the source of a node.
func (w *walker) text(node syntax.Node) string {
	return w.source[node.Pos().Offset():node.End().Offset()]
}

// opaque adds a node whose effect cannot be told, and the commands within it.
func (w *walker) opaque(node syntax.Node, why string) {
	w.unknown(nil, "%s: %s", quote(w.text(node)), why)
	syntax.Walk(node, func(inner syntax.Node) bool {
		statement, ok := inner.(*syntax.Stmt)
		if ok {
			w.statement(statement)
		}
		return !ok
	})
}

// unlike is what the parser may read otherwise than bash: a backslash at the end of a comment, which
// joins no lines in bash, or of the whole text, and two lines joined within a word or an operator.
var unlike = regexp.MustCompile(`#.*\\\n|\\\z|[^ \t]\\\n`)

// script walks the text of a shell's command.
func (w *walker) script(source string, variant syntax.LangVariant) {
	if w.nested == maxNested {
		w.unknown(nil, "commands within more than %d others", maxNested)
		return
	}
	if unlike.MatchString(source) {
		w.unknown(nil, "lines joined by a backslash after something else than a blank")
		return
	}
	inner := walker{nested: w.nested + 1, source: source, functions: map[string]bool{}, sh: w.sh}
	statements, err := parse(source, variant)
	for _, statement := range statements {
		inner.statement(statement)
		inner.define(statement)
	}
	if err != nil {
		inner.unknown(nil, "a syntax error at %v", err)
	}
	w.parts = append(w.parts, inner.parts...)
	w.moves = w.moves || inner.moves
}

// parse returns the statements up to the first error, and that. A here-document is in its statement
// only once the line after has been read.
func parse(source string, variant syntax.LangVariant) (statements []*syntax.Stmt, err error) {
	defer func() {
		p := recover()
		if p != nil {
			err = fmt.Errorf("the parser panicked: %v", p)
		}
	}()
	for statement, failed := range syntax.NewParser(syntax.Variant(variant)).StmtsSeq(strings.NewReader(source)) {
		if failed != nil {
			err = failed
		}
		if err == nil {
			statements = append(statements, statement)
		}
	}
	return statements, err
}

// define remembers a function that a statement of a script defines whatever else happens.
func (w *walker) define(s *syntax.Stmt) {
	function, ok := s.Cmd.(*syntax.FuncDecl)
	if ok && !s.Background && !s.Negated && function.Name != nil && syntax.ValidName(function.Name.Value) {
		w.functions[function.Name.Value] = true
	}
}

func (w *walker) statements(all []*syntax.Stmt) {
	for _, s := range all {
		w.statement(s)
	}
}

func (w *walker) statement(s *syntax.Stmt) {
	fed := w.redirections(s.Redirs)
	switch command := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		w.call(command, fed)
	case *syntax.BinaryCmd:
		w.statement(command.X)
		w.statement(command.Y)
	case *syntax.Block:
		w.statements(command.Stmts)
	case *syntax.Subshell:
		w.statements(command.Stmts)
	case *syntax.IfClause:
		for clause := command; clause != nil; clause = clause.Else {
			w.statements(clause.Cond)
			w.statements(clause.Then)
		}
	case *syntax.WhileClause:
		w.statements(command.Cond)
		w.statements(command.Do)
	case *syntax.ForClause:
		w.loop(command.Loop)
		w.statements(command.Do)
	case *syntax.CaseClause:
		w.words(command.Word)
		for _, item := range command.Items {
			w.words(item.Patterns...)
			w.statements(item.Stmts)
		}
	case *syntax.FuncDecl:
		w.function(command)
	case *syntax.TimeClause:
		if command.Stmt != nil {
			w.statement(command.Stmt)
		}
	case *syntax.TestClause:
		w.test(command.X)
	case *syntax.ArithmCmd:
		w.arithmetic(command.X)
	case *syntax.DeclClause:
		w.declare(command)
	default:
		w.opaque(command, "it can run or change anything")
	}
}

func (w *walker) loop(loop syntax.Loop) {
	switch loop := loop.(type) {
	case *syntax.WordIter:
		w.variable(loop.Name.Value, nil, true)
		w.words(loop.Items...)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post} {
			if x != nil {
				w.arithmetic(x)
			}
		}
	}
}

func (w *walker) function(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		w.opaque(f, "a function without a name or a body")
		return
	}
	w.statement(f.Body)
	if isCommand(f.Name.Value) {
		w.unknown(nil, "a function that takes the name of `%s`", f.Name.Value)
	}
}

// declare walks export, local and their like.
func (w *walker) declare(d *syntax.DeclClause) {
	odd := func(a *syntax.Assign) bool { return a.Name == nil || a.Naked || a.Array != nil }
	if len(d.Args) == 0 || slices.ContainsFunc(d.Args, odd) {
		w.opaque(d, "a declaration that is not of the form NAME=VALUE")
		return
	}
	for _, a := range d.Args {
		w.assign(a, d.Variant.Value != "export")
	}
}

// assign walks an assignment, to a variable of bash alone or to one that programs get too.
func (w *walker) assign(a *syntax.Assign, own bool) {
	w.variable(a.Name.Value, a.Value, own)
	if a.Index != nil {
		w.index(a.Index)
	}
	if a.Value != nil {
		w.words(a.Value)
	}
	if a.Array == nil {
		return
	}
	for _, element := range a.Array.Elems {
		if element.Index != nil {
			w.index(element.Index)
		}
		if element.Value != nil {
			w.words(element.Value)
		}
	}
}

var (
	ownName  = regexp.MustCompile(`^[a-z]+[0-9]*$`)
	mildName = regexp.MustCompile(`^(CI|NO_COLOR|FORCE_COLOR|TZ|LANG|LC_[A-Z]+|COLUMNS|LINES|` +
		`GOOS|GOARCH|CGO_ENABLED|NODE_ENV|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)$`)
	mildValue = regexp.MustCompile(`^([a-z0-9]*|C|POSIX|[A-Z]{3}|[A-Za-z_]+\.(UTF-8|utf8))$`)
)

// isMild reports whether a variable changes nothing about what programs run.
func isMild(name, value string) bool {
	return mildName.MatchString(name) && mildValue.MatchString(value)
}

// variable adds a part if the new value of a variable may change what programs run. One of bash's
// own with a simple name is in no program's environment.
func (w *walker) variable(name string, value *syntax.Word, own bool) {
	if own && ownName.MatchString(name) {
		return
	}
	mild := false
	if value == nil {
		mild = !own && isMild(name, "")
	} else {
		text, ok := literal(value)
		mild = ok && isMild(name, text)
	}
	if !mild {
		w.unknown(nil, "`%s=`: a variable that may change what programs do", name)
	}
}

// input is what a redirection feeds to a command, if it is literal.
type input struct{ text string }

// redirections adds the files that are written. It returns what the command reads if that is in
// the text; nil: something else.
func (w *walker) redirections(all []*syntax.Redirect) *input {
	var fed *input
	for _, r := range all {
		w.words(r.Word)
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			w.unknown(nil, "%s: a redirection that sets a variable", quote(w.text(r)))
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			fed = w.document(r)
		case syntax.WordHdoc, syntax.RdrIn, syntax.DplIn:
			fed = w.input(r)
		case syntax.RdrInOut:
			fed = nil
			w.write(r)
		default:
			w.write(r)
		}
	}
	return fed
}

// input walks <, <& and <<<. It returns what a command reads, nil if that is not in the text.
func (w *walker) input(r *syntax.Redirect) *input {
	text, ok := literal(r.Word)
	switch {
	case r.Op == syntax.WordHdoc && ok && r.N == nil:
		return &input{text + "\n"}
	case r.Op == syntax.WordHdoc:
	case !ok, isNetwork(text), r.Op == syntax.DplIn && !descriptor.MatchString(text):
		w.unknown([]string{"<"}, "it cannot be told what %s reads", quote(w.text(r)))
	}
	return nil
}

// descriptor is what >& takes for a descriptor and not for a file.
var descriptor = regexp.MustCompile(`^([0-9]+-?|-)$`)

// isNetwork reports whether bash makes a connection where this file is opened.
func isNetwork(file string) bool {
	return strings.HasPrefix(file, "/dev/tcp/") || strings.HasPrefix(file, "/dev/udp/")
}

// write adds the file that a redirection writes. bash takes the dash of >&-file by itself.
func (w *walker) write(r *syntax.Redirect) {
	file, ok := literal(r.Word)
	switch {
	case ok && r.Op == syntax.DplOut && descriptor.MatchString(file):
	case !ok || isNetwork(file) || climbs(file) || strings.HasPrefix(file, "-"):
		w.unknown([]string{">"}, "it cannot be told where %s writes", quote(w.text(r)))
	case file != "/dev/null" && file != "/dev/stdout" && file != "/dev/stderr":
		w.parts = append(w.parts, Part{Words: []string{">", file}, Writes: file})
	}
}

// climbs reports whether a path has "..", which links may lead anywhere.
func climbs(file string) bool { return slices.Contains(strings.Split(file, "/"), "..") }

// delimiter is one that every bash finds at the same line.
var delimiter = regexp.MustCompile(`^(\w+|'\w+'|"\w+"|\\\w+)$`)

// document walks a here-document. It returns its text, nil if that is not literal or not for stdin.
func (w *walker) document(r *syntax.Redirect) *input {
	if r.Hdoc == nil || !w.ends(r) {
		w.unknown(nil, "a here-document whose end is not certain: %s", quote(w.text(r.Word)))
		return nil
	}
	w.words(r.Hdoc)
	if r.N != nil || r.Op == syntax.DashHdoc || len(r.Hdoc.Parts) != 1 {
		return nil
	}
	lit, ok := r.Hdoc.Parts[0].(*syntax.Lit)
	if !ok || !isQuoted(w.text(r.Word)) && strings.Contains(lit.Value, `\`) {
		return nil
	}
	return &input{lit.Value}
}

// ends reports whether a here-document ends where it does for bash, which reads it line by line.
func (w *walker) ends(r *syntax.Redirect) bool {
	word := w.text(r.Word)
	after := w.source[r.Word.End().Offset():]
	joins := !isQuoted(word) && strings.Contains(w.text(r.Hdoc), "\\\n")
	if joins || !delimiter.MatchString(word) || !strings.ContainsAny(after[:min(1, len(after))], " \t\n;&|<>()") {
		return false
	}
	at := int(r.Hdoc.Pos().Offset())
	for line := range strings.Lines(w.source[at:]) {
		at += len(line)
		line = strings.TrimSuffix(line, "\n")
		text := line
		if r.Op == syntax.DashHdoc {
			text = strings.TrimLeft(line, "\t")
		}
		if text == strings.Trim(word, `'"\`) {
			end := int(r.Hdoc.End().Offset())
			return end == at || end == at-1 // with the newline, or without
		}
	}
	return false
}

// isQuoted reports whether a delimiter makes its here-document literal.
func isQuoted(delimiter string) bool { return strings.ContainsAny(delimiter, `'"\`) }

// call walks a simple command.
func (w *walker) call(c *syntax.CallExpr, fed *input) {
	for _, a := range c.Assigns {
		w.assign(a, len(c.Args) == 0)
	}
	w.words(c.Args...)
	var words []string
	for _, word := range c.Args {
		text, ok := literal(word)
		if !ok {
			w.run(words, quote(w.text(word))+" can be anything", fed)
			return
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return
	}
	if w.functions[words[0]] {
		w.parts = append(w.parts, Part{Words: words, wraps: true})
		return
	}
	w.run(words, "", fed)
}

// run adds a command that runs with these words, and what that runs. If open is not "", other
// words follow that cannot be told, for this reason.
func (w *walker) run(words []string, open string, fed *input) {
	if len(words) == 0 {
		w.unknown(nil, "what it runs is computed: %s", open)
		return
	}
	if w.nested == maxNested {
		w.unknown(nil, "commands within more than %d others", maxNested)
		return
	}
	w.nested++
	defer func() { w.nested-- }()
	words = slices.Clone(words)
	words[0] = program(words[0])
	name := words[0]
	wrapper, wraps := wrappers[name]
	why := unreadable(words)
	w.moves = w.moves || slices.Contains(movers, name)
	switch {
	case why != "":
		w.unknown(words, "%s", why)
	case slices.Contains(shells, name):
		w.shell(words, open, fed)
	case wraps:
		w.wrapped(wrapper, words, open, fed)
	case name == "find":
		w.find(words, open)
	default:
		w.simple(Part{Words: words}, open)
	}
}

// simple adds a part. It is unknown if more words follow.
func (w *walker) simple(part Part, open string) {
	if open != "" {
		w.unknown(part.Words, "%s", open)
		return
	}
	w.parts = append(w.parts, part)
}

// program returns the name of a program without its folder, if that is one of the system's.
func program(file string) string {
	if climbs(file) {
		return file
	}
	folder, name := path.Split(path.Clean(file))
	switch folder {
	case "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/":
		return name
	}
	return file
}

// words walks the substitutions and expansions in words.
func (w *walker) words(all ...*syntax.Word) {
	for _, word := range all {
		w.wordParts(word.Parts)
	}
}

func (w *walker) wordParts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			w.wordParts(part.Parts)
		case *syntax.CmdSubst:
			w.substitution(part)
		case *syntax.ProcSubst:
			w.statements(part.Stmts)
		case *syntax.ParamExp:
			w.parameter(part)
		case *syntax.ArithmExp:
			w.arithmetic(part.X)
		default:
			w.opaque(part, "a pattern that bash reads otherwise without extglob")
		}
	}
}

// substitution walks a command substitution. Backslashes within backquotes are read twice.
func (w *walker) substitution(s *syntax.CmdSubst) {
	if s.TempFile || s.ReplyVar || s.Backquotes && strings.Contains(w.text(s), `\`) {
		w.opaque(s, "versions of bash read it differently")
		return
	}
	w.statements(s.Stmts)
}

// parameter walks an expansion of a variable. Indexes, offsets and indirections may run commands
// that are in the values of variables; others assign.
func (w *walker) parameter(p *syntax.ParamExp) {
	plain := syntax.ParamExp{
		Dollar: p.Dollar, Rbrace: p.Rbrace, Short: p.Short, Length: p.Length,
		Param: p.Param, Index: p.Index, Repl: p.Repl, Exp: p.Exp,
	}
	assigns := p.Exp != nil && slices.Contains(
		[]syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}, p.Exp.Op)
	if assigns || !reflect.DeepEqual(*p, plain) {
		w.opaque(p, "an expansion that may run or change something")
		return
	}
	if p.Index != nil {
		w.index(p.Index)
	}
	if p.Repl != nil {
		w.optional(p.Repl.Orig, p.Repl.With)
	}
	if p.Exp != nil {
		w.optional(p.Exp.Word)
	}
}

// optional walks words that may be nil.
func (w *walker) optional(all ...*syntax.Word) {
	w.words(slices.DeleteFunc(all, func(word *syntax.Word) bool { return word == nil })...)
}

var (
	digits  = regexp.MustCompile(`^[0-9]+$`)
	indexes = regexp.MustCompile(`^([0-9]+|[@*])$`)
)

// index walks the index of an array, which is literal or runs who knows what.
func (w *walker) index(x syntax.ArithmExpr) {
	if !indexes.MatchString(w.text(x)) {
		w.opaque(x, "an index that is computed")
	}
}

// arithmetic walks an expression. The values of the variables in it are expressions too, which
// may run commands.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		w.arithmetic(x.X)
		w.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		w.arithmetic(x.X)
	case *syntax.ParenArithm:
		w.arithmetic(x.X)
	default:
		if !digits.MatchString(w.text(x)) {
			w.opaque(x, "arithmetic with something else than numbers")
		}
	}
}

// test walks an expression of [[ ]].
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		w.words(x)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.opaque(x, "a variable whose index may be computed")
			return
		}
		w.test(x.X)
	case *syntax.BinaryTest:
		w.comparison(x)
	}
}

func (w *walker) comparison(x *syntax.BinaryTest) {
	switch x.Op {
	case syntax.TsReMatch, syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		w.opaque(x, "a regular expression, or arithmetic")
	default:
		w.test(x.X)
		w.test(x.Y)
	}
}

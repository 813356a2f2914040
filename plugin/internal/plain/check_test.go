package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string // the beginning of the one finding; "": none
	}{
		"statements on lines":        {"a()\nb()", ""},
		"statements on one line":     {"a(); b()", "two statements"},
		"in a function":              {"f := func() { a(); b() }\nf()", "two statements"},
		"in a case":                  {"switch {\ncase x:\na(); b()\n}", "two statements"},
		"in a select":                {"select {\ncase <-c:\na(); b()\n}", "two statements"},
		"a tested error":             {"if err := a(); err != nil {\n}", ""},
		"a tested field":             {"if x.err = a(); x.err != nil {\n}", ""},
		"a tested part":              {"if n, ok := a(); ok && x {\n}", ""},
		"a field beside it":          {"if x.host = a(); x.port > 0 {\n}", "the condition does not test"},
		"another variable":           {"if n := a(); x {\n}", "the condition does not test"},
		"nothing is tested":          {"if _ = a(); x {\n}", "the condition does not test"},
		"an effect":                  {"if delete(m, k); len(m) == 0 {\n}", "the condition has an effect"},
		"a count":                    {"if n++; n > 3 {\n}", "the condition has an effect"},
		"an else":                    {"if x {\n} else if a(); y {\n}", "the condition has an effect"},
		"a switch by what was made":  {"switch n := a(); n {\n}", ""},
		"a case of what was made":    {"switch n := a(); {\ncase n > 0:\n}", ""},
		"a switch by something else": {"switch n := a(); x {\n}", "the condition does not test"},
		"a plain loop":               {"for i := 0; i < n; i++ {\n}", ""},
		"a loop by steps":            {"for i := a(); i < n; i += len(x) {\n}", ""},
		"a loop that takes":          {"for x := take(); x != nil; x = take() {\n}", "the loop's header"},
		"a loop that calls":          {"for ; x; a() {\n}", "the loop's header"},
		"two results":                {"x, y := a()", ""},
		"a swap":                     {"x[i], x[j] = x[j], x[i]", ""},
		"the old value of a target":  {"x, y = y, x%y", ""},
		"two assignments":            {"x, y := 1, 2", "two assignments"},
		"two that could be apart":    {"x, y = y, 0", "two assignments"},
		"two in a declaration":       {"var x, y = 1, 2", "two assignments"},
		"two in a loop":              {"for i, j := 0, n; i < j; i++ {\n}", "two assignments"},
		"an index of a literal":      {"x := []int{1, 2}[i]", "a choice by the index"},
		"an index of a variable":     {"x := list[i]", ""},
		"a short comment":            {"type s struct {\nx int // of the y, which may be z\n}", ""},
		"a long comment":             {"type s struct {\nx int // one two three four five six seven eight\n}", "the comment"},
		"a long comment above":       {"type s struct {\n// one two three four five six seven eight\nx int\n}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := token.NewFileSet()
			text := "package p\n\nfunc f() {\n" + c.body + "\n}\n"
			file, err := parser.ParseFile(files, "p.go", text, parser.ParseComments)
			require.NoError(t, err)
			found := check(files, file)
			if c.want == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.True(t, strings.HasPrefix(found[0].text, c.want), found[0].text)
		})
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	glued := &fstest.MapFile{Data: []byte("package p\n\nvar x, y = 1, 2\n")}
	found, err := walk(fstest.MapFS{
		"a/b.go":           glued,
		"a/b_test.go":      glued,
		"a/b.txt":          glued,
		".git/b.go":        glued,
		"bin/base/b.go":    glued,
		"shared/tool/b.go": glued,
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a/b.go:3:5: two assignments in one: make them two statements",
		"shared/tool/b.go:3:5: two assignments in one: make them two statements",
	}, found)
	_, err = walk(fstest.MapFS{"a.go": {Data: []byte("package")}})
	assert.ErrorContains(t, err, "a.go:1:8: expected 'IDENT'")
}

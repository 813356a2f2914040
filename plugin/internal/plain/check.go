package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxWords is how many words a comment behind a field may have.
const maxWords = 7

// finding is a place in a file that breaks a rule.
type finding struct {
	at   token.Pos
	text string
}

// checker looks for glued statements in one file.
type checker struct {
	files *token.FileSet
	found []finding
}

// check returns what breaks a rule in a file, from its beginning to its end.
func check(files *token.FileSet, file *ast.File) []finding {
	c := &checker{files: files}
	ast.Inspect(file, func(node ast.Node) bool {
		c.node(node)
		return true
	})
	slices.SortStableFunc(c.found, func(a, b finding) int { return int(a.at - b.at) })
	return c.found
}

func (c *checker) report(at ast.Node, text string) {
	c.found = append(c.found, finding{at: at.Pos(), text: text})
}

func (c *checker) node(node ast.Node) {
	switch n := node.(type) {
	case *ast.BlockStmt:
		c.lines(n.List)
	case *ast.CaseClause:
		c.lines(n.Body)
	case *ast.CommClause:
		c.lines(n.Body)
	case *ast.IfStmt:
		c.init(n.Init, n.Cond)
	case *ast.SwitchStmt:
		c.init(n.Init, switched(n)...)
	case *ast.ForStmt:
		c.loop(n)
	case *ast.AssignStmt:
		c.paired(n, n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		c.paired(n, expressions(n.Names), n.Values)
	case *ast.IndexExpr:
		if _, ok := n.X.(*ast.CompositeLit); ok {
			c.report(n, "a choice by the index of a literal: use if or switch, or give the literal a name")
		}
	case *ast.Field:
		if len(strings.Fields(n.Comment.Text())) > maxWords {
			c.report(n, "the comment of this field is long: put it above the field")
		}
	}
}

// lines reports statements that begin on the line where the one before ends.
func (c *checker) lines(list []ast.Stmt) {
	for i := 1; i < len(list); i++ {
		if c.files.Position(list[i].Pos()).Line == c.files.Position(list[i-1].End()).Line {
			c.report(list[i], "two statements on one line")
		}
	}
}

// init reports the init statement of an if or a switch, unless it is an assignment and one of
// the conditions mentions what it assigns to.
func (c *checker) init(init ast.Stmt, conditions ...ast.Expr) {
	if init == nil {
		return
	}
	assigned, ok := init.(*ast.AssignStmt)
	if !ok {
		c.report(init, "the condition has an effect: make it a statement of its own")
		return
	}
	for _, condition := range conditions {
		for _, target := range assigned.Lhs {
			if mentions(condition, target) {
				return
			}
		}
	}
	c.report(init, "the condition does not test what its init statement makes: make that a statement of its own")
}

// switched returns what a switch tests.
func switched(n *ast.SwitchStmt) []ast.Expr {
	var tested []ast.Expr
	if n.Tag != nil {
		tested = append(tested, n.Tag)
	}
	for _, clause := range n.Body.List {
		tested = append(tested, clause.(*ast.CaseClause).List...)
	}
	return tested
}

// loop reports a loop whose post statement calls a function: the header does the loop's work.
func (c *checker) loop(n *ast.ForStmt) {
	if n.Post == nil {
		return
	}
	ast.Inspect(n.Post, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || types.ExprString(call.Fun) == "len" {
			return true
		}
		c.report(call, "the loop's header calls a function after each turn: do that in the body")
		return false
	})
}

// paired reports an assignment of several values to several targets, unless a later value
// needs the old value of an earlier target, as in a swap.
func (c *checker) paired(at ast.Node, targets, values []ast.Expr) {
	if len(targets) < 2 || len(values) < 2 {
		return
	}
	for i, target := range targets {
		for _, value := range values[i+1:] {
			if mentions(value, target) {
				return
			}
		}
	}
	c.report(at, "two assignments in one: make them two statements")
}

// mentions reports whether an expression has another as a part.
func mentions(whole, part ast.Expr) bool {
	text := types.ExprString(part)
	found := false
	ast.Inspect(whole, func(node ast.Node) bool {
		if expression, ok := node.(ast.Expr); ok && types.ExprString(expression) == text {
			found = true
		}
		return !found
	})
	return found
}

func expressions(names []*ast.Ident) []ast.Expr {
	var list []ast.Expr
	for _, name := range names {
		list = append(list, name)
	}
	return list
}

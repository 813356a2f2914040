// Plain reports Go code that is hard to read because statements are glued together: two
// statements on one line, an init statement that its condition does not test, a loop whose
// header does its work, two unrelated assignments in one, a long comment behind a field. It
// looks at the Go files below the working directory, without tests.
package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
)

func main() {
	found, err := walk(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(2)
	}
	for _, line := range found {
		fmt.Println(line)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// walk checks all files of a module.
func walk(module fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "bin" || strings.HasPrefix(name, ".") && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !isProduct(name) {
			return nil
		}
		lines, err := checkFile(module, name)
		found = append(found, lines...)
		return err
	})
	return found, err
}

// isProduct reports whether a file has Go code that is no test.
func isProduct(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

func checkFile(module fs.FS, name string) ([]string, error) {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, f := range check(files, file) {
		lines = append(lines, fmt.Sprintf("%s: %s", files.Position(f.at), f.text))
	}
	return lines, nil
}

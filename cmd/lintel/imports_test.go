package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path of this module, as imports have it.
const module = "github.com/lintel-bot/lintel/"

// below has the floors that each floor may import besides itself. A package of cmd may import all.
var below = map[string][]string{
	"engine": nil,
	"render": nil,
	"checks": {"engine", "render"},
	"bot":    {"checks", "render"},
}

// The program imports nothing that is made for tests, and imports run from a floor to those below it.
func TestImports(t *testing.T) {
	top := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || file != top && strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		inside, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		inside = filepath.ToSlash(inside)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		test := strings.HasSuffix(name, "_test.go") || forTests(path.Dir(inside))
		floor, _, _ := strings.Cut(inside, "/")
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			own, ours := strings.CutPrefix(imported, module)
			if !test && (imported == "testing" || ours && forTests(own) || strings.HasSuffix(imported, "/httptest")) {
				t.Errorf("%s imports %s, which is for tests", inside, imported)
			}
			other, _, _ := strings.Cut(own, "/")
			if ours && floor != "cmd" && other != floor && !slices.Contains(below[floor], other) {
				t.Errorf("%s imports %s: %s may import %v", inside, imported, floor, below[floor])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d files were read", files)
	}
}

// forTests reports whether a package is for tests: its folder, or one around it, has a name that ends in "test".
// checks/policytest is none of them: it is what "lintel test" does.
func forTests(folder string) bool {
	for name := range strings.SplitSeq(folder, "/") {
		if strings.HasSuffix(name, "test") && name != "policytest" {
			return true
		}
	}
	return false
}

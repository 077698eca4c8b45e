// Command texts prints the texts that a person can see from Lintel, each with its file and line: messages, errors, the
// help of commands, the wording of pages, and the descriptions of settings. It reads the source from the folder it is
// started in.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text is a text that a person can see. Value has "%v" where the program inserts what is no literal.
type text struct {
	file  string
	line  int
	value string
}

func (t text) String() string { return fmt.Sprintf("%s:%d: %s", t.file, t.line, t.value) }

func main() {
	log.SetFlags(0)
	texts, err := collect(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range texts {
		fmt.Println(t)
	}
}

// collect returns the texts of the module at root, in the order of its files.
func collect(root string) ([]text, error) {
	var all []text
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasSuffix(name, "test") || name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		read := reader(name)
		if read == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		texts, err := read(data)
		for _, t := range texts {
			t.file, t.value = filepath.ToSlash(file), strings.Join(strings.Fields(t.value), " ")
			if phrase.MatchString(t.value) {
				all = append(all, t)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	return all, err
}

// reader returns what finds the texts in a file of that name, or nil.
func reader(name string) func([]byte) ([]text, error) {
	switch ext := filepath.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		return nil
	case ext == ".go":
		return ofGo
	case ext == ".html":
		return ofHTML
	case ext == ".js":
		return ofScript
	case ext == ".tmpl":
		return ofSettings
	case name == "fields.yaml":
		return ofFields
	case name == "commands.txt":
		return ofCommands
	case name == "foreign.txt":
		return ofForeign
	}
	return nil
}

var (
	// phrase matches what has two words beside each other.
	phrase = regexp.MustCompile(`[A-Za-z]{2,}[)'"]?[,;:.]? ["(]?(?:[a-z]{2,}|a\b|[A-Z][a-z]+|%)|%[a-z][)'"]?[,;:.]? [a-z]{2,}`)
	// code matches documents and programs: lines of YAML, HTML, GraphQL.
	code = regexp.MustCompile(`(?m)^\s*(?:- )?[\w.-]+:(?: .*)?$\n\s*(?:- ` +
		`)?[\w.-]+:|^\s*<\w+|^\s*query\(|^apiVersion:|[\x00-\x08\x0e-\x1f]`)
)

// ofGo returns the string literals of a Go file, a sum of them and of other values as one, without tags of fields and
// regular expressions.
func ofGo(data []byte) ([]text, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []text
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
				pkg, ok := fun.X.(*ast.Ident)
				return !ok || pkg.Name != "regexp"
			}
		case *ast.BinaryExpr, *ast.BasicLit:
			if value, found := literal(n.(ast.Expr)); found {
				if !code.MatchString(value) {
					texts = append(texts, paragraphs(value, fset.Position(n.Pos()).Line)...)
				}
				return false
			}
		}
		return true
	})
	return texts, nil
}

// literal returns a string literal, or a sum with string literals.
func literal(e ast.Expr) (value string, found bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			value, err := strconv.Unquote(e.Value)
			return value, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, inLeft := literal(e.X)
			right, inRight := literal(e.Y)
			return left + right, inLeft || inRight
		}
	}
	return "%v", false
}

// paragraphs splits a text at its empty lines.
func paragraphs(value string, line int) []text {
	var texts []text
	for part := range strings.SplitSeq(value, "\n\n") {
		texts = append(texts, text{line: line, value: part})
		if strings.Count(value, "\n") > 3 {
			line += strings.Count(part, "\n") + 2
		}
	}
	return texts
}

var (
	action    = regexp.MustCompile(`(?s){{-?(.*?)-?}}`)
	attribute = regexp.MustCompile(`(?:aria-label|placeholder|title|alt|content)="([^"]*)"`)
	tag       = regexp.MustCompile(`(?s)</?(?:code|strong|em|a|small|span|b)\b[^>]*>`)
	between   = regexp.MustCompile(`(?s)>([^<>]+)`)
)

// ofHTML returns what stands between the tags of a template and in the attributes that are read to people.
func ofHTML(data []byte) ([]text, error) {
	data = action.ReplaceAllFunc(data, func(found []byte) []byte {
		if inner := action.FindSubmatch(found)[1]; !bytes.HasPrefix(inner, []byte(".")) {
			return bytes.Repeat([]byte("\n"), bytes.Count(found, []byte("\n")))
		}
		return []byte("%v")
	})
	texts := matches(attribute, data)
	return append(texts, matches(between, tag.ReplaceAll(data, nil))...), nil
}

var quoted = regexp.MustCompile(`"([^"\n]*)"`)

func ofScript(data []byte) ([]text, error) { return matches(quoted, data), nil }

var comment = regexp.MustCompile(`(?m)^# (.*)`)

func ofSettings(data []byte) ([]text, error) { return matches(comment, data), nil }

var help = regexp.MustCompile(`(?m)^((?:[A-Z].*\n?)(?:[^ =\n-].*\n?)*)|^  .*# (.*)`)

// ofCommands returns the paragraphs of the help, and the comments of its examples.
func ofCommands(data []byte) ([]text, error) { return matches(help, data), nil }

var foreign = regexp.MustCompile(`(?m)^[a-z].*?: ((?:.*\n)(?:  .*\n)*)`)

func ofForeign(data []byte) ([]text, error) { return matches(foreign, data), nil }

// matches returns what the group of every match holds.
func matches(pattern *regexp.Regexp, data []byte) []text {
	var texts []text
	for _, at := range pattern.FindAllSubmatchIndex(data, -1) {
		for i := 2; i < len(at); i += 2 {
			if from, to := at[i], at[i+1]; from >= 0 {
				texts = append(texts, text{line: 1 + bytes.Count(data[:from], []byte("\n")), value: string(data[from:to])})
			}
		}
	}
	return texts
}

// ofFields returns the texts of the list of settings.
func ofFields(data []byte) ([]text, error) {
	var fields []struct{ Text yaml.Node }
	err := yaml.Unmarshal(data, &fields)
	var texts []text
	for _, field := range fields {
		texts = append(texts, text{line: field.Text.Line, value: field.Text.Value})
	}
	return texts, err
}

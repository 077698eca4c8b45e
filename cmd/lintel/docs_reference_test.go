package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
)

var generatedPart = regexp.MustCompile(`(?s)<!-- generated: ([^>]*) -->\n(.*?)<!-- end -->`)

// Reference parts of the documentation are what the program says of itself. -update writes them.
func TestReferencePartsAreGenerated(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range documentation(t) {
		text := generatedPart.ReplaceAllStringFunc(d.text, func(part string) string {
			m := generatedPart.FindStringSubmatch(part)
			words := strings.Fields(m[1])
			make, ok := references[words[0]]
			if !ok {
				t.Errorf("%s: nothing generates %s", d.name, m[1])
				return part
			}
			seen[words[0]] = true
			return fmt.Sprintf("<!-- generated: %s -->\n%s<!-- end -->", m[1], make(t, words[1:]))
		})
		if text == d.text {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the program says now: go test ./cmd/lintel -run TestReferenceParts -update", d.name)
			continue
		}
		if err := os.WriteFile(filepath.Join("..", "..", d.name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range references {
		if !seen[name] {
			t.Errorf("no document has the part %s", name)
		}
	}
}

// references make the parts, by their names.
var references = map[string]func(t *testing.T, args []string) string{
	"checks": func(*testing.T, []string) string {
		rows := [][]string{{"check", "finds", "severity", "by default"}}
		for _, e := range topicsOf(report.ExplainCheck) {
			level := e.Level
			if e.Setting == "" {
				level += ", always on"
			}
			rows = append(rows, []string{"[`" + e.Name + "`](CHECKS.md#" + e.Name + ")", e.About, e.Severity, level})
		}
		return markdownTable(rows)
	},
	"check-pages":   func(*testing.T, []string) string { return pages(report.ExplainCheck) },
	"message-pages": func(*testing.T, []string) string { return pages(report.ExplainMessage) },
	"settings": func(*testing.T, []string) string {
		rows := [][]string{{"field", "type", "meaning"}}
		for _, f := range settings.Fields() {
			if !strings.HasPrefix(f.Path, "limits.") {
				rows = append(rows, []string{"`" + f.Path + "`", settings.FormatOf(f.Path), withDefault(f)})
			}
		}
		return markdownTable(rows)
	},
	"limits": func(*testing.T, []string) string {
		rows := [][]string{{"limit", "meaning", "default", "at most"}}
		for _, f := range settings.Fields() {
			if name, ok := strings.CutPrefix(f.Path, "limits."); ok && f.Most != nil {
				rows = append(rows, []string{"`" + name + "`", f.Text, fmt.Sprint(f.Default), fmt.Sprint(*f.Most)})
			}
		}
		return markdownTable(rows)
	},
	"variables": func(*testing.T, []string) string {
		rows := [][]string{{"variable", "flag of `lintel serve`", "meaning"}}
		newServeCommand().Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				rows = append(rows, []string{"`LINTEL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "`", "`--" + f.Name + "`", usageOf(f)})
			}
		})
		return markdownTable(rows)
	},
	"kinds": func(*testing.T, []string) string {
		uses := map[engine.Use]string{engine.UseEvaluated: "evaluated", engine.UseBinding: "puts policies into force",
			engine.UseException: "exception", engine.UseClusterOnly: "evaluated in a cluster only; a check names it once"}
		rows := [][]string{{"kind", "group", "versions", "use"}}
		for _, k := range engine.KnownKinds() {
			rows = append(rows, []string{"`" + k.Kind + "`", "`" + k.Group + "`", strings.Join(k.Versions, ", "), uses[k.Use]})
		}
		return markdownTable(rows)
	},
	"commands": func(*testing.T, []string) string {
		rows := [][]string{{"command", "does"}}
		for _, cmd := range newRootCommand().Commands() {
			if !cmd.Hidden && cmd.Runnable() {
				rows = append(rows, []string{"`lintel " + cmd.Use + "`", cmd.Short})
			}
		}
		return markdownTable(rows)
	},
	"flags": func(t *testing.T, args []string) string {
		cmd, _, err := newRootCommand().Find(args)
		if err != nil || cmd.Parent() == nil {
			t.Fatalf("there is no command %q", args)
		}
		return flagTable(cmd)
	},
	"exit-codes": func(*testing.T, []string) string {
		rows := [][]string{{"exit code", "meaning"}}
		for code, words := range exitWords() {
			rows = append(rows, []string{fmt.Sprint(code), words})
		}
		return markdownTable(rows)
	},
	"formats": func(*testing.T, []string) string {
		rows := [][]string{{"command", "`-o`"}}
		for _, c := range []struct {
			name  string
			names []string
		}{
			{"check", output.Names[*report.Report]()}, {"diff", output.Names[*report.Differences]()},
			{"eval", output.Names[*report.Evaluation]()}, {"test", output.Names[*report.TestRun]()},
			{"fix", output.Names[*report.Fixes]()}, {"blame", output.Names[[]report.BlamedResource]()},
			{"roots", output.Names[[]report.ListedRoot]()}, {"render", output.Names[[]report.Object]()},
			{"fetch", output.Names[[]report.Fetched]()}, {"explain", output.Names[[]report.Explanation]()},
			{"init", output.Names[*report.InitPlan]()}, {"version", output.Names[report.Build]()},
		} {
			rows = append(rows, []string{"`lintel " + c.name + "`", "`" + strings.Join(c.names, "`, `") + "`"})
		}
		return markdownTable(rows)
	},
	"fields": fieldTable,
}

func topicsOf(kind report.ExplanationKind) (list []report.Explanation) {
	for _, e := range checks.Topics() {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// pages are sections with all that explanations say.
func pages(kind report.ExplanationKind) string {
	var out strings.Builder
	for _, e := range topicsOf(kind) {
		fmt.Fprintf(&out, "## %s\n\n%s.\n\n", e.Name, strings.TrimSuffix(e.About, "."))
		if len(e.Printed) > 0 {
			fmt.Fprintf(&out, "```\n%s\n```\n\n", strings.Join(e.Printed, "\n"))
		}
		fmt.Fprintf(&out, "**What it means.** %s\n\n", strings.Join(strings.Fields(e.Means), " "))
		fmt.Fprintf(&out, "**What to do.** %s\n\n", strings.Join(strings.Fields(e.ToDo), " "))
		switch {
		case e.Setting != "":
			fmt.Fprintf(&out, "Severity: %s. Default: `%s`; `checks: {%s: off}` turns it off, `warn` and `enforce` are the other levels.\n\n", e.Severity, e.Level, e.Name)
		case e.Severity != "":
			fmt.Fprintf(&out, "Severity: %s. Always on: `%s`.\n\n", e.Severity, e.Level)
		}
		for _, part := range []struct{ title, text string }{{"Wrong", e.Wrong}, {"Right", e.Right}} {
			if part.text != "" {
				fmt.Fprintf(&out, "%s:\n\n```\n%s```\n\n", part.title, part.text)
			}
		}
	}
	return out.String()
}

func withDefault(f settings.Field) string {
	text := strings.Join(strings.Fields(f.Text), " ")
	if f.Default != nil {
		text += fmt.Sprintf(" Default: `%v`.", f.Default)
	}
	return text
}

func flagTable(cmd *cobra.Command) string {
	rows := [][]string{{"flag", "meaning"}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		rows = append(rows, []string{name, usageOf(f)})
	})
	return markdownTable(rows)
}

// usageOf is what a flag says of itself, with its default.
func usageOf(f *pflag.Flag) string {
	usage := strings.Join(strings.Fields(f.Usage), " ")
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && !strings.Contains(usage, "default") {
		usage += " (default: `" + d + "`)"
	}
	return usage
}

// fieldTable lists the fields that a type of the report has in JSON, with the comments of its source.
func fieldTable(t *testing.T, args []string) string {
	dir := filepath.Join("..", "..", "checks", "report")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var fields *ast.StructType
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == args[0] {
				fields, _ = spec.Type.(*ast.StructType)
			}
			return true
		})
	}
	if fields == nil {
		t.Fatalf("package report has no type %s", args[0])
	}
	rows := [][]string{{"field", "type", "meaning"}}
	for _, f := range fields.Fields.List {
		comment := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		if f.Tag == nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name != "" && name != "-" && !strings.Contains(comment, `"-o json" leaves it out`) {
			rows = append(rows, []string{"`" + name + "`", jsonType(f.Type), comment})
		}
	}
	return markdownTable(rows)
}

// jsonType is how people call the type of a field in JSON.
func jsonType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return jsonType(e.X)
	case *ast.ArrayType:
		return "list of " + jsonType(e.Elt)
	case *ast.MapType:
		return "map"
	case *ast.Ident:
		switch e.Name {
		case "string", "Conclusion", "Result", "Action", "Side", "CauseKind", "State":
			return "text"
		case "int", "int64", "float64":
			return "number"
		case "bool":
			return "boolean"
		}
	case *ast.SelectorExpr:
		if e.Sel.Name == "Time" {
			return "time"
		}
	}
	return "object"
}

// markdownTable is a table; the first row is its head.
func markdownTable(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		for j, cell := range row {
			row[j] = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(cell)
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	return out.String()
}

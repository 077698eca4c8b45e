package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Edits count only where what they are for goes and nothing comes.
func TestUnhelpfulEdits(t *testing.T) {
	finding := func(policy, name, field string) report.Finding {
		return report.Finding{Policy: policy, Rule: "r", Resource: report.Resource{Kind: "Pod", Name: name}, Field: field,
			Roots: []string{"root-" + name}, Origin: &report.Origin{Path: name + ".yaml"}}
	}
	a, b, c := finding("p", "a", "/x"), finding("p", "b", "/x"), finding("q", "c", "/x")
	for name, tc := range map[string]struct {
		after []report.Finding
		errs  []report.Problem
		want  string
	}{
		"all are gone":           {nil, nil, "map[] []"},
		"one is still there":     {[]report.Finding{b}, nil, "map[1:the edit does not reduce the findings of the rule] []"},
		"another field of it is": {[]report.Finding{finding("p", "b", "/y")}, nil, "map[] [0 1]"},
		"something new of it is": {[]report.Finding{finding("new", "a", "/y")}, nil, "map[0:with it new is violated] []"},
		"something new of its root": {[]report.Finding{{Policy: "new", Resource: report.Resource{Name: "z"}, Roots: []string{"root-c"}}}, nil,
			"map[2:with it new is violated] []"},
		"something new elsewhere": {[]report.Finding{{Policy: "new"}}, nil,
			"map[] [0 1 2]"},
		"what was one finding of two roots is two": {[]report.Finding{{Policy: "s", Rule: "r", Roots: []string{"x"}},
			{Policy: "s", Rule: "r", Roots: []string{"y"}}}, nil, "map[] []"},
		"what an exception covers is no finding": {[]report.Finding{{Policy: "new", Result: report.Skip}}, nil, "map[] []"},
		"it does not render":                     {nil, []report.Problem{{Path: "c.yaml"}}, "map[2:with this edit, something can no longer be checked] []"},
	} {
		before := &report.Report{Findings: []report.Finding{a, b, c, {Policy: "s", Rule: "r", Roots: []string{"x", "y"}}}}
		edits := []report.SourceEdit{{Findings: []int{0}}, {Findings: []int{1}}, {Findings: []int{2}}}
		useless, suspects := unhelpful(before, &report.Report{Findings: tc.after, Errors: tc.errs}, edits)
		if got := fmt.Sprint(useless, " ", suspects); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// Edits of lines, and the difference that they come to, with the lines around them as they may be shown.
func TestEditedRows(t *testing.T) {
	edit := func(line, before, after int, removed, added string) report.SourceEdit {
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == '|' }) }
		around, end := map[int]string{}, line+len(split(removed))
		for i := range before {
			around[line-1-i] = "shown"
		}
		for i := range after {
			around[end+i] = "shown"
		}
		return report.SourceEdit{Diff: &report.Diff{Line: line, Removed: split(removed), Added: split(added)}, Around: around}
	}
	for name, c := range map[string]struct {
		text  string
		edits []report.SourceEdit // from the end of the file
		want  string
		diff  string
	}{
		"in the middle": {"a\nb\nc\nd\ne\n", []report.SourceEdit{edit(3, 1, 2, "c", "x|y")}, "a\nb\nx\ny\nd\ne\n",
			"@@ -2,4 +2,5 @@\n shown\n-c\n+x\n+y\n shown\n shown\n"},
		"two apart": {"a\nb\nc\nd\ne\n", []report.SourceEdit{edit(5, 0, 0, "e", ""), edit(2, 0, 0, "", "x")}, "a\nx\nb\nc\nd\n",
			"@@ -1,0 +2 @@\n+x\n@@ -5 +5,0 @@\n-e\n"},
		"two in one": {"a\nb\nc\n", []report.SourceEdit{edit(3, 1, 0, "c", "x"), edit(1, 0, 1, "a", "y")}, "y\nb\nx\n",
			"@@ -1,3 +1,3 @@\n-a\n+y\n shown\n-c\n+x\n"},
		"other line breaks": {"a\r\nb\r\n", []report.SourceEdit{edit(3, 0, 0, "", "c")}, "a\r\nb\r\nc\r\n", "@@ -2,0 +3 @@\n+c\n"},
		"no last line break": {"a\nb", []report.SourceEdit{edit(3, 1, 0, "", "c")}, "a\nb\nc",
			"@@ -2 +2,2 @@\n shown\n+c\n\\ No newline at end of file\n"},
		"other line breaks without the last one": {"a\r\nb", []report.SourceEdit{edit(3, 0, 0, "", "c")}, "a\r\nb\r\nc",
			"@@ -2,0 +3 @@\n+c\n\\ No newline at end of file\n"},
		"mixed line breaks": {"a\r\nb\nc\r\n", []report.SourceEdit{edit(2, 0, 0, "b", "x|y")}, "a\r\nx\ny\nc\r\n",
			"@@ -2 +2,2 @@\n-b\n+x\n+y\n"},
		"other lines than that":    {"a\nb\n", []report.SourceEdit{edit(1, 0, 0, "b", "c")}, "", ""},
		"lines that are not there": {"a\n", []report.SourceEdit{edit(4, 0, 0, "", "c")}, "", ""},
	} {
		f := &fixedFile{shown: map[int]string{}, data: []byte(c.text)}
		f.read()
		why := ""
		for _, e := range c.edits {
			if f.rows, why = f.rows.with(&e, f); why != "" {
				break
			}
		}
		if got := f.rows.String(); got != c.want || (why == "") != (c.want != "") {
			t.Errorf("%s: %q, want %q (%s)", name, got, c.want, why)
		}
		var out strings.Builder
		if f.difference(&out, "f"); why == "" && out.String() != "--- a/f\n+++ b/f\n"+c.diff {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

// What somebody changed since it was read, or made a link, is left alone.
func TestFilesThatChangeAreLeftAlone(t *testing.T) {
	for name, meanwhile := range map[string]func(file string) error{
		"nothing":         func(string) error { return nil },
		"another content": func(file string) error { return os.WriteFile(file, []byte("c\n"), 0o600) },
		"gone":            os.Remove,
		"a link": func(file string) error {
			return errors.Join(os.Rename(file, file+"-real"), os.Symlink(filepath.Base(file)+"-real", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "sub", "f.yaml")
			if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("a\n"), 0o640)); err != nil {
				t.Fatal(err)
			}
			top, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			x := &fixing{top: top, files: map[string]*fixedFile{}}
			f := &fixedFile{shown: map[int]string{}}
			if why := x.read("sub/f.yaml", f); why != "" {
				t.Fatal(why)
			}
			x.files["sub/f.yaml"], f.rows = f, rows{{text: "b\n"}}
			if err := meanwhile(file); err != nil {
				t.Fatal(err)
			}
			was, _ := os.ReadFile(file)
			var out, log strings.Builder
			whole := x.write(&out, &log)
			now, _ := os.ReadFile(file)
			if left := name != "nothing"; whole == left || left && (string(now) != string(was) || out.Len() > 0) ||
				!left && string(now) != "b\n" || left != strings.Contains(log.String(), "not edited: sub/f.yaml: ") {
				t.Errorf("%t, %q: %s%s", whole, now, &out, &log)
			}
			if info, err := os.Lstat(file); name == "nothing" && (err != nil || info.Mode() != 0o640) {
				t.Errorf("%v %v", info.Mode(), err)
			}
			if names, err := filepath.Glob(filepath.Join(dir, "sub", ".lintel-*")); err != nil || len(names) > 0 {
				t.Errorf("%v is left over", names)
			}
		})
	}
}

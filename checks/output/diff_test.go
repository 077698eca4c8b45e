package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// hostileDifferences returns differences with s in every text.
func hostileDifferences(s string) *report.Differences {
	r := hostileReport(s)
	at := func(line int, side report.Side) *report.Origin {
		return &report.Origin{Path: strings.ReplaceAll(s, "\x00", ""), StartLine: line, EndLine: line, How: s, Side: side}
	}
	other := report.Resource{Kind: s, Name: s}
	return &report.Differences{
		Differences: []report.Difference{{Roots: []string{s, s}, Resource: r.Findings[0].Resource, Operation: s, From: s,
			Replaces: &other, Clusters: []string{s}, LeftOut: 3,
			Hunks: []report.DiffHunk{{Path: s, Lines: []report.DiffLine{
				{Sign: " ", Text: s, Field: s}, {Sign: "-", Text: s + " old", Field: s, Origin: at(2, report.Base)},
				{Sign: "+", Text: s + " new", Field: s, Origin: at(3, report.Head)},
				{Sign: "+", Text: s, Field: s, Origin: at(9, report.Head)}, {Sign: s, Text: s, Field: s},
				{Sign: "+", Text: s}}}}}},
		Images: []report.ImageChange{{Resource: other, Container: s, From: s, To: s + "1"}}, Clusters: []string{s},
		More: 1, Relabeled: 2, Others: 3, Errors: r.Errors, Warnings: r.Warnings,
		NotChecked: []report.NotChecked{{Root: s, Path: s, Line: 1, Reason: s}},
	}
}

func TestNothingInjectsIntoDifferences(t *testing.T) {
	for _, s := range attacks() {
		d := hostileDifferences(s)
		for _, name := range Names[*report.Differences]() {
			for _, width := range []int{0, 30, 400} {
				var b bytes.Buffer
				if err := Write(name, &b, d, Options{Width: width}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				out := b.String()
				if !utf8.ValidString(out) {
					t.Errorf("%s of %q is not UTF-8", name, s)
				}
				if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && hostile(r) }); i >= 0 {
					t.Errorf("%s of %q has a control character at %d: %q", name, s, i, out[i:min(len(out), i+20)])
				}
				if logCommand.MatchString(out) {
					t.Errorf("%s of %q has a command of a log", name, s)
				}
				for row := range strings.SplitSeq(out, "\n") {
					if strings.HasPrefix(strings.TrimSpace(row), "::") {
						t.Errorf("%s of %q has a workflow command: %q", name, s, row)
					}
				}
				if name == "json" && !json.Valid(b.Bytes()) {
					t.Errorf("%s of %q is not JSON", name, s)
				}
			}
		}
	}
}

// Colors do not change the text.
func TestColorsOfDifferences(t *testing.T) {
	for _, s := range attacks() {
		var with, without bytes.Buffer
		d := hostileDifferences(s)
		if err := diffText(&with, d, Options{Color: true}); err != nil {
			t.Fatal(err)
		}
		if err := diffText(&without, d, Options{}); err != nil {
			t.Fatal(err)
		}
		plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(with.String(), "")
		if d := cmp.Diff(without.String(), plain); d != "" {
			t.Errorf("%q:\n%s", s, d)
		}
	}
}

func TestHunks(t *testing.T) {
	line := func(sign, text, path string, n int) report.DiffLine {
		l := report.DiffLine{Sign: sign, Text: text}
		if path != "" {
			l.Origin = &report.Origin{Path: path, StartLine: n, EndLine: n}
		}
		return l
	}
	near := line("+", "c: 2", "values.yaml", 4)
	near.Origin.How = report.Enclosing
	for name, tc := range map[string]struct {
		width int
		lines []report.DiffLine
		want  string
	}{
		"beside": {40, []report.DiffLine{line(" ", "spec:", "", 0), line("-", "  a: 1", "a.yaml", 3),
			line("+", "  a: 2", "a.yaml", 12)},
			" spec:\n-  a: 1                         a.yaml:3\n+  a: 2                        a.yaml:12\n"},
		"above": {24, []report.DiffLine{line("-", "a: a longer text", "a.yaml", 3),
			line("+", "a: another text", "a.yaml", 3)},
			"@ a.yaml:3\n-a: a longer text\n+a: another text\n"},
		"above a run": {24, []report.DiffLine{line("+", "a: a longer text", "a.yaml", 7), line("+", "b:", "a.yaml", 3),
			line("+", "c: 1", "b.yaml", 3)}, "@ a.yaml:3-7\n+a: a longer text\n+b:\n@ b.yaml:3\n+c: 1\n"},
		"unknown": {24, []report.DiffLine{line("+", "a: a longer text", "a.yaml", 7), line("+", "b:", "", 3)},
			"@ a.yaml:7\n+a: a longer text\n@ it is not known where\n+b:\n"},
		"near a place": {40, []report.DiffLine{near}, "+c: 2                 near values.yaml:4\n"},
		"spaces": {40, []report.DiffLine{line("-", "a b  ", "a.yaml", 7), line("+", "a b", "a.yaml", 7)},
			"-a b··                          a.yaml:7\n+a b                            a.yaml:7\n"},
		"tabs": {40, []report.DiffLine{line("-", "c: \td", "a.yaml", 8), line("+", "c:     d", "a.yaml", 8)},
			"-c: \\td                         a.yaml:8\n+c:     d                       a.yaml:8\n"},
		"long": {24, []report.DiffLine{line("-", "key: "+strings.Repeat("a b ", 30)+"old"+strings.Repeat(" c d", 30), "a", 7),
			line("+", "key: "+strings.Repeat("a b ", 30)+"new"+strings.Repeat(" c d", 30), "a", 7),
			line("+", strings.Repeat("x", 99), "a", 7)},
			"@ a:7\n-key: " + strings.Repeat("a b ", 9)[:35] + "…" + strings.Repeat("a b ", 10) + "old" +
				strings.Repeat(" c d", 10) + "…\n+key: " + strings.Repeat("a b ", 9)[:35] + "…" + strings.Repeat("a b ", 10) +
				"new" + strings.Repeat(" c d", 10) + "…\n+" + strings.Repeat("x", 71) + "…\n"},
		"wide": {24, []report.DiffLine{line("+", "日本: 1", "a.yaml", 7)}, "+日本: 1        a.yaml:7\n"},
	} {
		d := &report.Differences{Differences: []report.Difference{{Roots: []string{"r"}, Operation: "UPDATE",
			Hunks: []report.DiffHunk{{Lines: tc.lines}}}}}
		var b bytes.Buffer
		if err := diffText(&b, d, Options{Width: tc.width}); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(b.String(), "r\n\n")
		_, got, _ = strings.Cut(got, "\n")
		got, _, _ = strings.Cut(got, "\n\n")
		if d := cmp.Diff(tc.want, got+"\n"); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// Only the differing words of an edited line are highlighted.
func TestWordsOfDifferences(t *testing.T) {
	d := &report.Differences{Differences: []report.Difference{{Roots: []string{"r"}, Operation: "UPDATE",
		Hunks: []report.DiffHunk{{Lines: []report.DiffLine{{Sign: "-", Text: "image: web:1.0"},
			{Sign: "+", Text: "image: web:1.1"}, {Sign: "+", Text: "new: 1"}}}}}}}
	var b bytes.Buffer
	if err := diffText(&b, d, Options{Color: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: web:\x1b[0m\x1b[7;31m1.0\x1b[0m\n", "image: web:\x1b[0m\x1b[7;32m1.1\x1b[0m\n",
		"\x1b[32m+new: 1\x1b[0m\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
}

func TestDiffCounts(t *testing.T) {
	of := func(operations ...string) (list []report.Difference) {
		for i, o := range operations {
			list = append(list, report.Difference{Operation: o, Roots: []string{fmt.Sprint("r", i%2)}})
		}
		return list
	}
	for _, tc := range []struct {
		d    report.Differences
		want string
	}{
		{report.Differences{}, "Nothing that is deployed differs"},
		{report.Differences{Errors: make([]report.Problem, 1)}, "Nothing differs in what could be rendered"},
		{report.Differences{NotChecked: make([]report.NotChecked, 1)}, "Nothing differs in what could be rendered"},
		{report.Differences{Relabeled: 1}, "1 resource where only the version label differs"},
		{report.Differences{Differences: of("CREATE", "UPDATE", "UPDATE"), More: 2},
			"3 differences in 2 roots: 1 created, 2 updated; 2 more resources differ and are not listed"},
	} {
		if got := view.DiffCounts(&tc.d); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

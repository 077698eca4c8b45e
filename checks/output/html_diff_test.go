package output

import (
	"fmt"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Only the first of several lines with the same place shows it. An edited line links to both commits.
func TestPlacesOfADifference(t *testing.T) {
	b := &pageOf{report: &report.Report{}, o: PageOptions{BlobURL: Blob("https://x.example/o/r", "head"),
		BaseURL: Blob("https://x.example/o/r", "base")}, ids: map[string]int{}}
	at := func(n int) *report.Origin { return &report.Origin{Path: "a.yaml", StartLine: n, EndLine: n} }
	path := ""
	lines := b.hunk(&report.DiffHunk{Path: "spec", Lines: []report.DiffLine{
		{Sign: "-", Text: "tag: 1", Origin: at(3)}, {Sign: "+", Text: "tag: 2", Origin: at(3)},
		{Sign: "+", Text: "more: 2", Origin: at(3)}, {Sign: "+", Text: "last: 2", Origin: at(4)}}}, &path)
	var got []Link
	for _, l := range lines[1:] {
		got = append(got, l.Where)
	}
	want := []Link{{Text: "a.yaml:3", Address: "https://x.example/o/r/blob/base/a.yaml#L3"},
		{Text: ":3", Address: "https://x.example/o/r/blob/head/a.yaml#L3"}, {},
		{Text: ":4", Address: "https://x.example/o/r/blob/head/a.yaml#L4"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestUnfold(t *testing.T) {
	for name, c := range map[string]struct {
		lines []int
		open  bool
	}{"few": {[]int{2, 3}, true}, "as many": {[]int{5, 5}, true}, "one more": {[]int{5, 6}, false}, "none": {nil, false}} {
		var list []Change
		for _, n := range c.lines {
			list = append(list, Change{Lines: make([]DiffLine, n)})
		}
		unfold(list, 10)
		for i := range list {
			if list[i].Open != c.open {
				t.Errorf("%s: %v", name, list[i].Open)
			}
		}
	}
}

// An exception of the change is in the head; a merged one is at the commit of the rules.
func TestExceptionOfAFinding(t *testing.T) {
	b := &pageOf{report: &report.Report{}, o: PageOptions{BlobURL: Blob("https://x.example/o/r", "head"),
		PolicyURL: Blob("https://x.example/o/r", "rules")}}
	for state, commit := range map[report.State]string{report.Merged: "rules", report.Expired: "rules", report.Pending: "head",
		report.Approved: "head", report.Refused: "head"} {
		got := b.exemption(&report.Exemption{Exception: "n/e", Path: "e.yaml", State: state})
		want := "https://x.example/o/r/blob/" + commit + "/e.yaml"
		if got.Text != "n/e: "+string(state) || got.Where.Text != "e.yaml" || got.Where.Address[:len(want)] != want {
			t.Errorf("%s: %+v, want %s", state, got, want)
		}
	}
}

// Markdown lists each place once, and joins consecutive lines.
func TestPlacesInMarkdown(t *testing.T) {
	at := func(path string, n int, side report.Side) report.DiffLine {
		return report.DiffLine{Sign: "+", Origin: &report.Origin{Path: path, StartLine: n, Side: side}}
	}
	d := &report.Difference{Hunks: []report.DiffHunk{
		{Lines: []report.DiffLine{at("a.yaml", 20, report.Head), at("a.yaml", 19, report.Head), at("b.yaml", 4, report.Head), {Sign: " "}}},
		{Lines: []report.DiffLine{at("a.yaml", 21, report.Head), at("a.yaml", 20, report.Head), at("a.yaml", 3, report.Head),
			at("b.yaml", 4, report.Base), at("b.yaml", 7, report.Base), at("b.yaml", 8, report.Base)}}}}
	got := (&markdown{}).placesOf(d)
	if want := []string{"`a.yaml:3`", "`a.yaml:19-21`", "`b.yaml:4`", "`b.yaml:7-8` (before)"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// New findings of a policy come first, and are only folded if there are many.
func TestOrderOfFindings(t *testing.T) {
	r := &report.Report{}
	for i := range 8 {
		f := report.Finding{Policy: "p", Rule: "r", Result: report.Fail, Action: report.Enforce, New: i%2 == 1, Blocks: i%2 == 1,
			Origin: &report.Origin{Path: "a.yaml", StartLine: i + 1}}
		r.Findings = append(r.Findings, f)
	}
	var got []string
	for _, f := range PageOf(r, PageOptions{}).Groups[0].Findings {
		got = append(got, fmt.Sprint(f.Where.Text, " ", f.State, " ", f.Folded))
	}
	want := []string{"a.yaml:2 blocking false", "a.yaml:4 blocking false", "a.yaml:6 blocking false", "a.yaml:8 blocking false",
		"a.yaml:1 before true", "a.yaml:3 before true", "a.yaml:5 before true", "a.yaml:7 before true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

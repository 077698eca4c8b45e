package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// If many releases cannot be checked for one reason, it is written once, and each release is named or counted.
func TestUncheckedForOneReason(t *testing.T) {
	r := &report.Report{Conclusion: report.Neutral}
	for i := range 69 {
		r.NotChecked = append(r.NotChecked, report.NotChecked{Root: fmt.Sprintf("HelmRelease/a/app-%d", i), Line: 13,
			Path: fmt.Sprintf("apps/%d/source.yaml", i), Reason: "the chart cannot be had"})
	}
	r.NotChecked = append(r.NotChecked, report.NotChecked{Root: "other", Path: "b.yaml", Reason: "it is a bucket"},
		report.NotChecked{Path: "p.yaml", Line: 2, Reason: "the chart cannot be had", Rules: true})
	text := func(o Options) string {
		var b strings.Builder
		if err := checkText(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		got   string
		lines int
		want  []string
		not   string
	}{
		"text": {text(Options{}), 18, []string{"HelmRelease/a/app-0 is not checked: the chart cannot be had\n",
			"likewise   HelmRelease/a/app-1 apps/1/source.yaml:13\n             HelmRelease/a/app-2 apps/2/source.yaml:13\n",
			"and 65 more; --all-places", "other is not checked: it is a bucket", "p.yaml:2  not checked\n  the chart"},
			"app-6 "},
		"text with all places": {text(Options{AllPlaces: true}), 90, []string{"app-68 apps/68/source.yaml:13"}, "more"},
		"markdown": {Markdown(r, MarkdownOptions{}), 20, []string{"<details><summary>Likewise 68 more</summary>" +
			"HelmRelease/a/app-1 `apps/1/source.yaml:13`<br>", "<br>and 48 more</details>\n", "other is not checked"}, "app-21 "},
	} {
		for _, s := range tc.want {
			if !strings.Contains(tc.got, s) {
				t.Errorf("%s: %q is not in\n%s", name, s, tc.got)
			}
		}
		if n := strings.Count(tc.got, "\n"); n > tc.lines || strings.Contains(tc.got, tc.not) {
			t.Errorf("%s: %d lines, or %q is in\n%s", name, n, tc.not, tc.got)
		}
		if n := strings.Count(tc.got, "the chart cannot be had"); n != 2 {
			t.Errorf("%s: it is said %d times", name, n)
		}
	}
}

// Every format names what was not checked, with its reason: a reader of that format alone must not take it for a pass.
func TestEveryFormatNamesWhatWasNotChecked(t *testing.T) {
	r := &report.Report{Conclusion: report.Neutral, Title: "1 deployment is not checked", NotChecked: []report.NotChecked{
		{Root: "HelmRelease/shop/app", Path: "apps/source.yaml", Line: 13, Reason: "plainreason", Changed: true}}}
	for _, name := range Names[*report.Report]() {
		var b strings.Builder
		if err := Write(name, &b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "plainreason") {
			t.Errorf("%s does not say why:\n%s", name, b.String())
		}
	}
}

// What a CI system shows on lines of files has a place for each unchecked part, also where several causes are one
// annotation.
func TestUncheckedPartsHavePlaces(t *testing.T) {
	r := &report.Report{Conclusion: report.Neutral}
	for i, id := range []string{"a", "b"} {
		place := fmt.Sprintf("apps/%s.yaml", id)
		r.Causes = append(r.Causes, report.Cause{ID: id, Kind: report.CauseSource, What: "chart " + id, Reason: "it is gone",
			Path: place, Line: 13 + i, Roots: 1})
		r.NotChecked = append(r.NotChecked, report.NotChecked{Root: "HelmRelease/shop/" + id, Path: place, Line: 13 + i,
			Reason: "chart " + id + ": it is gone", Cause: id})
	}
	for name, want := range map[string][]string{
		"github": {"::warning file=apps/a.yaml,line=13,title=Lintel%3A not checked::2 remote sources could not be fetched: it is gone"},
		"junit":  {`file="apps/a.yaml" line="13"`, `file="apps/b.yaml" line="14"`},
	} {
		var b strings.Builder
		if err := Write(name, &b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if !strings.Contains(b.String(), s) {
				t.Errorf("%s: %q is not in\n%s", name, s, b.String())
			}
		}
	}
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Findings and entries refer to their cause by an id that does not depend on the report, and each cause counts them.
func TestCauses(t *testing.T) {
	chart := Cause{Kind: CauseSource, What: "chart a 1.0.0 of https://x", Reason: "no answer", Path: "a.yaml", Line: 3}
	namespace := Cause{Kind: CauseCluster, What: "Namespace shop"}
	r := &Report{Stats: Stats{Policies: 1, Resources: 1}}
	of := func(name string, causes ...Cause) Finding {
		f := Finding{Policy: fmt.Sprint(len(causes)), Resource: Resource{Kind: "Pod", Name: name}, Result: Unknown, New: true, Origin: &Origin{Path: name}}
		for _, c := range causes {
			f.Causes = append(f.Causes, r.Because(c))
		}
		return f
	}
	r.Findings = []Finding{of("a", chart), of("a", chart, namespace), of("b", namespace)}
	r.NotChecked = []NotChecked{{Root: "one", Path: "a.yaml", Line: 3, Cause: r.Because(chart)},
		{Root: "two", Path: "b.yaml", Line: 1, Cause: r.Because(chart)}, {Root: "two", Path: "c.yaml", Reason: "it is Jsonnet"}}
	r.Warnings = []Problem{{Message: "rule x is not evaluated", Common: "not evaluated"}, {Message: "alone"},
		{Message: "rule y is not evaluated", Common: "not evaluated"}}
	r.Sort(func(path string) bool { return path == "b.yaml" })
	for i, want := range []Cause{
		{Kind: CauseCluster, Sentence: "needs the cluster: Namespace shop", Rules: 2, Objects: 2},
		{Kind: CausePolicy, Sentence: "not evaluated"},
		{Kind: CauseSource, Sentence: "chart a 1.0.0 of https://x: no answer", Path: "b.yaml", Line: 1, Rules: 2, Objects: 1,
			Roots: 2, Changed: true},
		{Kind: CauseRoot, Sentence: "it is Jsonnet", Path: "c.yaml", Roots: 1},
	} {
		got := r.Causes[i]
		if got.Kind != want.Kind || got.Sentence != want.Sentence || got.Path != want.Path || got.Line != want.Line ||
			got.Rules != want.Rules || got.Objects != want.Objects || got.Roots != want.Roots || got.Changed != want.Changed {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	var other Report
	chart.Reason, chart.Path = "needs credentials", "elsewhere.yaml"
	if id := other.Because(chart); id != r.Causes[2].ID || id == r.Causes[0].ID || len(id) != 12 {
		t.Errorf("id %s in another report, %+v", id, r.Causes)
	}
	common := func(p Problem) bool { return p.Cause == r.Causes[1].ID }
	if i := slices.IndexFunc(r.Warnings, common); len(r.Warnings) != 3 || i < 0 || slices.ContainsFunc(r.Warnings, func(p Problem) bool {
		return (p.Message == "alone") != (p.Cause == "")
	}) {
		t.Errorf("%+v", r.Warnings)
	}
}

// The title says that the change did not cause what keeps the check from being green, only if that is so.
func TestTitleOfCausesThatTheChangeLeavesAlone(t *testing.T) {
	const words = "all from causes outside this change"
	for _, c := range []struct {
		name   string
		change func(r *Report)
		want   bool
	}{
		{"undecided", func(r *Report) {}, true},
		{"not checked", func(r *Report) { r.NotChecked = []NotChecked{{Root: "a", Path: "old.yaml", Reason: "x"}} }, true},
		{"not checked, and changed", func(r *Report) { r.NotChecked = []NotChecked{{Root: "a", Path: "new.yaml", Reason: "x"}} }, false},
		{"a cause that the change touches", func(r *Report) { r.Causes[0].Changed = true }, false},
		{"another warning", func(r *Report) {
			r.Findings = append(r.Findings, Finding{Result: Warn, New: true, Origin: &Origin{}})
		}, false},
		{"undecided without a cause", func(r *Report) {
			r.Findings = append(r.Findings, Finding{Policy: "p", Result: Unknown, New: true, Origin: &Origin{}})
		}, false},
		{"a violation of the base", func(r *Report) {
			r.Findings = append(r.Findings, Finding{Result: Fail, Origin: &Origin{}})
		}, true},
		{"a violation", func(r *Report) {
			r.Findings = append(r.Findings, Finding{Result: Fail, New: true, Blocks: true, Origin: &Origin{}})
		}, false},
		{"everything is checked", func(r *Report) { r.All = true }, false},
		{"no policies", func(r *Report) { r.Stats.Policies = 0 }, false},
	} {
		r := &Report{Stats: Stats{Policies: 1, Resources: 1}}
		id := r.Because(Cause{Kind: CauseCluster, What: "Namespace shop"})
		r.Findings = []Finding{{Result: Unknown, New: true, Causes: []string{id}, Origin: &Origin{}}}
		c.change(r)
		r.Sort(func(path string) bool { return path == "new.yaml" })
		r.Conclude()
		if got := strings.Contains(r.Title, words); got != c.want {
			t.Errorf("%s: %s", c.name, r.Title)
		}
	}
}

package output

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

func finding(change func(*report.Finding)) report.Finding {
	f := report.Finding{
		Policy: "disallow-latest", Rule: "tag", Result: report.Fail, New: true, Blocks: true, Message: "no latest",
		Resource: report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Field:    "/spec/x", Origin: &report.Origin{Path: "a.yaml", StartLine: 7, EndLine: 7, StartColumn: 5, EndColumn: 9},
		Roots: []string{"overlays/prod"}, PolicyPath: "policies/p.yaml", PolicyLine: 4,
	}
	if change != nil {
		change(&f)
	}
	return f
}

func TestAnnotation(t *testing.T) {
	got, _ := Annotations(&report.Report{Findings: []report.Finding{
		finding(func(f *report.Finding) { f.Expected = "at most 3" })}})
	want := []report.Annotation{{Path: "a.yaml", StartLine: 7, EndLine: 7, StartColumn: 5, EndColumn: 8, Level: "failure",
		Title: "disallow-latest / tag",
		Message: "no latest\n\nWhat to do: change the value here so that the rule holds, or add an exception and have it " +
			"approved (the button Draft exceptions writes one).\n" +
			"Expected: at most 3\nField: spec.x\n" +
			"Resource: Deployment shop/web\nRendered by: overlays/prod\nPolicy: policies/p.yaml:4"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnnotationLevels(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Finding)
		level  view.Level // "" for no annotation
		says   string
	}{
		"blocking":      {nil, "failure", "change the value"},
		"missing field": {func(f *report.Finding) { f.Origin.Missing = "/runAsNonRoot" }, "failure", "add runAsNonRoot"},
		"audit":         {func(f *report.Finding) { f.Result, f.Blocks = report.Warn, false }, "warning", "only audits"},
		"audit, low": {func(f *report.Finding) { f.Result, f.Blocks, f.Severity = report.Warn, false, "low" }, "notice",
			"only audits"},
		"audit, high": {func(f *report.Finding) { f.Result, f.Blocks, f.Severity = report.Warn, false, "high" }, "warning",
			"only audits"},
		"enforce, low":     {func(f *report.Finding) { f.Severity = "low" }, "failure", "Draft exceptions"},
		"removed resource": {func(f *report.Finding) { f.Operation = "DELETE" }, "failure", "keep what is removed"},
		"exception refused": {func(f *report.Finding) {
			f.Exemption = &report.Exemption{Exception: "ns/e", Path: "e.yaml", State: "refused", By: "bob"}
		}, "failure", "bob requested changes"},
		"unknown": {func(f *report.Finding) { f.Result, f.Blocks = report.Unknown, false }, "warning",
			"only the cluster has"},
		"error":          {func(f *report.Finding) { f.Result = report.Error }, "failure", "could not be evaluated"},
		"pre-existing":   {func(f *report.Finding) { f.New, f.Blocks = false, false }, "notice", "already"},
		"old but blocks": {func(f *report.Finding) { f.New = false }, "failure", "change the value"},
		"pending": {func(f *report.Finding) {
			f.Result, f.Blocks, f.Exemption = report.Skip, false,
				&report.Exemption{Exception: "ns/e", Path: "e.yaml", State: "pending"}
		}, "warning", "ns/e (e.yaml)"},
		"expired": {func(f *report.Finding) { f.Exemption = &report.Exemption{Exception: "ns/e", State: "expired"} },
			"failure", "expired"},
		"merged exception": {func(f *report.Finding) {
			f.Result, f.Blocks, f.Exemption = report.Skip, false, &report.Exemption{State: "merged"}
		}, "", ""},
		"only in the base": {func(f *report.Finding) { f.Origin.Side = "base" }, "", ""},
		"no place":         {func(f *report.Finding) { f.Origin = nil }, "", ""},
	} {
		got, _ := Annotations(&report.Report{Findings: []report.Finding{finding(c.change)}})
		switch {
		case c.level == "":
			if len(got) != 0 {
				t.Errorf("%s: %+v, want none", name, got)
			}
		case len(got) != 1 || got[0].Level != string(c.level) || !strings.Contains(got[0].Message, c.says):
			t.Errorf("%s: %+v, want %s that says %q", name, got, c.level, c.says)
		}
	}
}

func TestOnePlaceIsOneAnnotation(t *testing.T) {
	rep := &report.Report{Findings: []report.Finding{
		finding(func(f *report.Finding) {
			f.Origin.StartLine, f.Origin.EndLine = 20, 22
			f.Origin.Path = "b.yaml"
			f.New, f.Blocks = false, false
		}),
		finding(nil),
		finding(func(f *report.Finding) {
			f.Resource.Name = "api"
			f.Roots = []string{"overlays/stage", "overlays/prod"}
		}),
		finding(func(f *report.Finding) { f.Rule = "other" }),
	}}
	for i := range 30 {
		rep.Findings[3].Resources = append(rep.Findings[3].Resources,
			report.Resource{Kind: "Pod", Name: strings.Repeat("p", i+1)})
	}
	got, _ := Annotations(rep)
	if len(got) != 3 {
		t.Fatalf("%d annotations, want 3: %+v", len(got), got)
	}
	if !strings.Contains(got[0].Message, "Resources: Deployment shop/web, Deployment shop/api\nRendered by: "+
		"overlays/prod, overlays/stage") {
		t.Errorf("resources and roots are not listed once each:\n%s", got[0].Message)
	}
	if !strings.Contains(got[1].Message, "and 11 more") {
		t.Errorf("a long list is not counted:\n%s", got[1].Message)
	}
	if last := got[2]; last.Level != "notice" || last.StartColumn != 0 || last.EndLine != 22 {
		t.Errorf("the notice comes last and, over lines, without columns: %+v", last)
	}
}

func TestProblemsAreAnnotatedWhereTheChangeMadeThem(t *testing.T) {
	got, _ := Annotations(&report.Report{Errors: []report.Problem{
		{Message: "no file"},
		{Path: "policies/p.yaml", Line: 3, Message: "of the base"},
		{Path: "k/kustomization.yaml", Message: "no such base", Changed: true},
	}})
	want := []report.Annotation{{Path: "k/kustomization.yaml", StartLine: 1, EndLine: 1, Level: "failure",
		Title: "Could not be checked", Message: "no such base"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Findings with the same causes are one annotation for each rule, at the first place. Unchecked parts at one place are
// one annotation.
func TestUndecidedIsAnnotatedOnce(t *testing.T) {
	rep := &report.Report{}
	id := rep.Because(report.Cause{Kind: report.CauseCluster, What: "Namespace shop"})
	for i := range 12 {
		rep.Findings = append(rep.Findings, finding(func(f *report.Finding) {
			f.Result, f.Blocks, f.Causes = report.Unknown, false, []string{id}
			f.Resource.Name = fmt.Sprint("web-", i)
			o := *f.Origin
			o.Path, o.StartLine, o.EndLine = "apps/a.yaml", i+1, i+1
			f.Origin = &o
		}))
		rep.NotChecked = append(rep.NotChecked, report.NotChecked{Root: fmt.Sprint("root-", i), Path: "k.yaml", Line: 2,
			Reason: "a generator", By: fmt.Sprint("apps/", i, ".yaml:1"), Changed: true})
	}
	got, left := Annotations(rep)
	if len(got) != 2 || left != 0 || got[0].Path != "apps/a.yaml" || got[0].StartLine != 1 ||
		!strings.Contains(got[0].Message, "\nBecause: needs the cluster: Namespace shop\n") ||
		!strings.Contains(got[0].Message, "web-11") || got[1].Message != "each of root-0 and 11 more is not checked: a generator" {
		t.Errorf("%d left, %+v", left, got)
	}
}

// The number of annotations is limited. The choice is deterministic: blocking findings first, and one of each policy
// before a second one. Omitted ones are counted.
func TestAnnotationsAreCapped(t *testing.T) {
	var all []report.Finding
	add := func(n int, policy, severity string, change func(*report.Finding)) {
		for i := range n {
			all = append(all, finding(func(f *report.Finding) {
				f.Policy, f.Severity = policy, severity
				o := *f.Origin
				o.Path, o.StartLine, o.EndLine = fmt.Sprintf("apps/%02d.yaml", i), i+1, i+1
				f.Origin = &o
				if change != nil {
					change(f)
				}
			}))
		}
	}
	audited := func(f *report.Finding) { f.Result, f.Blocks = report.Warn, false }
	old := func(f *report.Finding) { f.New, f.Blocks = false, false }
	add(60, "medium", "", nil)
	add(60, "critical", "critical", nil)
	add(60, "audited", "high", audited)
	add(60, "old", "critical", old)
	add(1, "rare", "info", audited)
	errors := []report.Problem{{Path: "k/kustomization.yaml", Message: "no such base", Changed: true}}
	zero, some, fifty := 0, 3, 50
	for name, c := range map[string]struct {
		max  *int
		want map[string]int
	}{
		"fifty": {&fifty, map[string]int{"critical / tag": 45, "medium / tag": 1, "audited / tag": 1, "old / tag": 1,
			"rare / tag": 1, "Could not be checked": 1}},
		"none": {&zero, map[string]int{}},
		"few":  {&some, map[string]int{"critical / tag": 1, "medium / tag": 1, "Could not be checked": 1}},
		"default": {nil, map[string]int{"critical / tag": 60, "medium / tag": 60, "audited / tag": 60, "old / tag": 60,
			"rare / tag": 1, "Could not be checked": 1}},
	} {
		rep := &report.Report{Findings: slices.Clone(all), Errors: errors, Annotations: c.max}
		list, left := Annotations(rep)
		got := map[string]int{}
		for _, a := range list {
			got[a.Title]++
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(list)+left != 242 {
			t.Errorf("%s: %d posted, %d left (-want +got):\n%s", name, len(list), left, diff)
		}
		slices.Reverse(rep.Findings)
		again, _ := Annotations(rep)
		if diff := cmp.Diff(list, again, cmpopts.SortSlices(func(a, b report.Annotation) bool {
			return a.Title+a.Path < b.Title+b.Path
		})); diff != "" {
			t.Errorf("%s: the order of findings decides:\n%s", name, diff)
		}
	}
}

// Omitted annotations are counted in the summary, with a link if there is a page.
func TestUnannotated(t *testing.T) {
	if got := Unannotated(50, 0, "https://x/y"); got != "" {
		t.Errorf("with nothing left: %q", got)
	}
	got := Unannotated(50, 910, "https://x/y?a=\"<b>")
	if !strings.Contains(got, "50 annotations are shown") || !strings.Contains(got, "910 more") ||
		!strings.Contains(got, `<a href="https://x/y?a=&#34;&lt;b&gt;">`) || len(got) > 512 {
		t.Errorf("%q", got)
	}
	for _, page := range []string{"", "javascript:alert(1)"} {
		if got := Unannotated(1, 2, page); strings.Contains(got, "href") {
			t.Errorf("%q is linked: %q", page, got)
		}
	}
}

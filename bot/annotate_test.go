package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/checks"
)

func finding(change func(*checks.Finding)) checks.Finding {
	f := checks.Finding{
		Policy: "disallow-latest", Rule: "tag", Result: checks.Fail, New: true, Blocks: true, Message: "no latest",
		Resource: checks.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Field:    "/spec/x", Origin: &checks.Origin{Path: "a.yaml", StartLine: 7, EndLine: 7, StartColumn: 5, EndColumn: 9},
		Roots: []string{"overlays/prod"}, PolicyPath: "policies/p.yaml", PolicyLine: 4,
	}
	if change != nil {
		change(&f)
	}
	return f
}

func TestAnnotation(t *testing.T) {
	got := annotate(&checks.Report{Findings: []checks.Finding{finding(func(f *checks.Finding) { f.Expected = "at most 3" })}})
	want := []github.Annotation{{Path: "a.yaml", StartLine: 7, EndLine: 7, StartColumn: 5, EndColumn: 8, Level: "failure",
		Title: "disallow-latest / tag",
		Message: "no latest\n\nWhat to do: change the value here so that the rule holds, or add an exception and have it approved (the button Draft exceptions writes one).\n" +
			"Expected: at most 3\nField: /spec/x\n" +
			"Resource: Deployment shop/web\nRendered by: overlays/prod\nPolicy: policies/p.yaml:4"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnnotationLevels(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*checks.Finding)
		level  string // "" for no annotation
		says   string
	}{
		"blocks":       {nil, "failure", "change the value"},
		"missing":      {func(f *checks.Finding) { f.Origin.Missing = "/runAsNonRoot" }, "failure", "add runAsNonRoot"},
		"audit":        {func(f *checks.Finding) { f.Result, f.Blocks = checks.Warn, false }, "warning", "only audits"},
		"audit, low":   {func(f *checks.Finding) { f.Result, f.Blocks, f.Severity = checks.Warn, false, "low" }, "notice", "only audits"},
		"audit, high":  {func(f *checks.Finding) { f.Result, f.Blocks, f.Severity = checks.Warn, false, "high" }, "warning", "only audits"},
		"enforce, low": {func(f *checks.Finding) { f.Severity = "low" }, "failure", "Draft exceptions"},
		"removal":      {func(f *checks.Finding) { f.Operation = "DELETE" }, "failure", "keep what is removed"},
		"refused": {func(f *checks.Finding) {
			f.Exemption = &checks.Exemption{Exception: "ns/e", Path: "e.yaml", State: "refused", By: "bob"}
		}, "failure", "bob asked for changes"},
		"unknown":        {func(f *checks.Finding) { f.Result, f.Blocks = checks.Unknown, false }, "warning", "only the cluster has"},
		"error":          {func(f *checks.Finding) { f.Result = checks.Error }, "failure", "could not be evaluated"},
		"pre-existing":   {func(f *checks.Finding) { f.New, f.Blocks = false, false }, "notice", "already"},
		"old but blocks": {func(f *checks.Finding) { f.New = false }, "failure", "change the value"},
		"pending": {func(f *checks.Finding) {
			f.Result, f.Blocks, f.Exemption = checks.Skip, false, &checks.Exemption{Exception: "ns/e", Path: "e.yaml", State: "pending"}
		}, "warning", "ns/e (e.yaml)"},
		"expired": {func(f *checks.Finding) { f.Exemption = &checks.Exemption{Exception: "ns/e", State: "expired"} }, "failure", "expired"},
		"merged exception": {func(f *checks.Finding) {
			f.Result, f.Blocks, f.Exemption = checks.Skip, false, &checks.Exemption{State: "merged"}
		}, "", ""},
		"only in the base": {func(f *checks.Finding) { f.Origin.Side = "base" }, "", ""},
		"nowhere":          {func(f *checks.Finding) { f.Origin = nil }, "", ""},
	} {
		got := annotate(&checks.Report{Findings: []checks.Finding{finding(c.change)}})
		switch {
		case c.level == "":
			if len(got) != 0 {
				t.Errorf("%s: %+v, want none", name, got)
			}
		case len(got) != 1 || got[0].Level != c.level || !strings.Contains(got[0].Message, c.says):
			t.Errorf("%s: %+v, want %s that says %q", name, got, c.level, c.says)
		}
	}
}

func TestOnePlaceIsOneAnnotation(t *testing.T) {
	report := &checks.Report{Findings: []checks.Finding{
		finding(func(f *checks.Finding) {
			f.Origin.StartLine, f.Origin.EndLine = 20, 22
			f.Origin.Path = "b.yaml"
			f.New, f.Blocks = false, false
		}),
		finding(nil),
		finding(func(f *checks.Finding) {
			f.Resource.Name = "api"
			f.Roots = []string{"overlays/stage", "overlays/prod"}
		}),
		finding(func(f *checks.Finding) { f.Rule = "other" }),
	}}
	for i := range 30 {
		report.Findings[3].Resources = append(report.Findings[3].Resources, checks.Resource{Kind: "Pod", Name: strings.Repeat("p", i+1)})
	}
	got := annotate(report)
	if len(got) != 3 {
		t.Fatalf("%d annotations, want 3: %+v", len(got), got)
	}
	if !strings.Contains(got[0].Message, "Resources: Deployment shop/web, Deployment shop/api\nRendered by: overlays/prod, overlays/stage") {
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
	got := annotate(&checks.Report{Errors: []checks.Problem{
		{Message: "no file"},
		{Path: "policies/p.yaml", Line: 3, Message: "of the base"},
		{Path: "k/kustomization.yaml", Message: "no such base", Changed: true},
	}})
	want := []github.Annotation{{Path: "k/kustomization.yaml", StartLine: 1, EndLine: 1, Level: "failure", Title: "Could not be checked", Message: "no such base"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package output

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
)

// A path is a URI that decodes to the name of the file.
func TestSARIFPaths(t *testing.T) {
	for path, want := range map[string]string{
		"apps/web/a.yaml":       "apps/web/a.yaml",
		"my apps/web app.yaml":  "my%20apps/web%20app.yaml",
		"räder/日本.yaml":         "r%C3%A4der/%E6%97%A5%E6%9C%AC.yaml",
		"100%/#1?.yaml":         "100%25/%231%3F.yaml",
		"a:b/c.yaml":            "./a:b/c.yaml",
		"[x]/{y}|\\z\".yaml":    "%5Bx%5D/%7By%7D%7C%5Cz%22.yaml",
		"line\nend\x1b\xff.yml": "line%0Aend%1B%FF.yml",
		".github/x.yaml":        ".github/x.yaml",
	} {
		r := &report.Report{Findings: []report.Finding{{Policy: "p", Result: report.Fail, Action: report.Enforce,
			Origin: &report.Origin{Path: path, StartLine: 3}}}}
		got := validSARIF(t, r).Runs[0].Results[0].Locations[0].Physical.Artifact.URI
		if got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
		if u, err := url.Parse(got); err != nil || strings.TrimPrefix(u.Path, "./") != path {
			t.Errorf("%q: %s leads to %q, %v", path, got, u.Path, err)
		}
	}
}

func TestSARIFRegions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		origin *report.Origin
		want   sarifRegion
	}{
		{"columns", &report.Origin{Path: "a", StartLine: 4, EndLine: 4, StartColumn: 3, EndColumn: 9},
			sarifRegion{4, 4, 3, 9}},
		{"empty value", &report.Origin{Path: "a", StartLine: 4, EndLine: 4, StartColumn: 3, EndColumn: 3},
			sarifRegion{4, 4, 3, 3}},
		{"whole lines", &report.Origin{Path: "a", StartLine: 4, EndLine: 6}, sarifRegion{4, 6, 1, 0}},
		{"one line", &report.Origin{Path: "a", StartLine: 4}, sarifRegion{4, 4, 1, 0}},
		{"lines and columns", &report.Origin{Path: "a", StartLine: 4, EndLine: 6, StartColumn: 7, EndColumn: 2},
			sarifRegion{4, 6, 7, 0}},
		{"no line", &report.Origin{Path: "a"}, sarifRegion{1, 1, 1, 0}},
		{"no place", nil, sarifRegion{1, 1, 1, 0}},
	} {
		r := &report.Report{Findings: []report.Finding{{Policy: "p", Rule: "r", Result: report.Fail, Origin: tc.origin}}}
		if diff := cmp.Diff(tc.want, *validSARIF(t, r).Runs[0].Results[0].Locations[0].Physical.Region); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// GitHub refuses a whole file for one result without a place. Such a result gets the place of its policy, or else of
// the settings.
func TestSARIFAlwaysHasAFile(t *testing.T) {
	r := &report.Report{Findings: []report.Finding{{Policy: "a", Result: report.Error, PolicyPath: "policies/a.yaml"},
		{Policy: "b", Result: report.Error}}}
	var got []string
	for _, x := range validSARIF(t, r).Runs[0].Results {
		got = append(got, x.Locations[0].Physical.Artifact.URI)
	}
	if diff := cmp.Diff([]string{"policies/a.yaml", report.SettingsPath}, got); diff != "" {
		t.Error(diff)
	}
}

// Errors are results, so that a file that could not be checked does not seem clean.
func TestSARIFErrorsAreResults(t *testing.T) {
	log := validSARIF(t, &report.Report{Errors: []report.Problem{{Path: "a/kustomization.yaml", Line: 3, Column: 5,
		Message: "no such file"}, {Message: "out of memory"}}})
	run := log.Runs[0]
	if len(run.Results) != 1 || run.Results[0].RuleID != errorRule || run.Results[0].Level != "error" ||
		len(run.Invocations[0].Notifications) != 2 || run.Invocations[0].Successful {
		t.Errorf("%+v", run)
	}
}

// A message cannot contain a link, and each resource is named once.
func TestSARIFForeignText(t *testing.T) {
	web := deployment("shop", "web")
	r := &report.Report{Findings: []report.Finding{{Policy: "p", Rule: "[a](b)", Result: report.Fail,
		Message:  "see [the fix](https://evil.example) {0}",
		Resource: web, Resources: []report.Resource{web, deployment("shop", "api"), web}}}}
	run := validSARIF(t, r).Runs[0]
	if got := run.Results[0].Message.Text; got != "see [the fix] (https://evil.example) {0}" {
		t.Error(got)
	}
	if n := len(run.Results[0].Locations[0].Logical); n != 2 {
		t.Errorf("%d logical locations", n)
	}
	if strings.Contains(run.Tool.Driver.Rules[0].Short.Text, "](") {
		t.Error(run.Tool.Driver.Rules[0].Short.Text)
	}
}

// Code scanning accepts 25,000 results: blocking ones are included, and the file counts the omitted ones.
func TestSARIFLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	r := &report.Report{}
	for range maxResults + 10 {
		r.Findings = append(r.Findings, report.Finding{Policy: "audit", Rule: "r", Result: report.Warn, New: true,
			Origin: &report.Origin{Path: "a.yaml", StartLine: 1}})
	}
	r.Findings = append(r.Findings, report.Finding{Policy: "enforce", Rule: "r", Result: report.Fail,
		Action: report.Enforce, New: true, Blocks: true, Origin: &report.Origin{Path: "z.yaml", StartLine: 1}})
	run := validSARIF(t, r).Runs[0]
	if run.Results[0].RuleID != "enforce/r" {
		t.Errorf("first is %s", run.Results[0].RuleID)
	}
	if n := run.Invocations[0].Notifications; len(n) != 1 ||
		n[0].Message.Text != "11 results are left out: code scanning takes 25,000" {
		t.Errorf("%+v", n)
	}
}

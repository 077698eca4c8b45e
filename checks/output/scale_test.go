package output

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// many returns a report of n findings: every container of 60 Deployments violates a rule of several policies, until
// there are enough findings. Every twelfth is pre-existing.
func many(n int) *report.Report {
	rules := []struct{ policy, severity, message, field, expected string }{
		{"disallow-privileged", "critical", "Privileged containers are not allowed.", "securityContext/privileged", "false"},
		{"disallow-latest-tag", "high", "Name a version <other than latest>.", "image", "anything but *:latest"},
		{"require-limits", "medium", "Memory & CPU limits are required.", "resources/limits", "memory: any value"},
		{"require-ro-rootfs", "", "The root file system must be read-only.", "securityContext/readOnlyRootFilesystem",
			"true"},
		{"require-probes", "low", "A liveness probe is required.", "livenessProbe", "any value"},
		{"pinned-registries", "info", "The registry of %s is not known.", "image", ""},
	}
	r := &report.Report{Conclusion: report.Failure, Title: fmt.Sprintf("%d new violations in 60 roots", n),
		Excerpts: map[string]map[int]string{}, About: map[string]report.About{"disallow-latest-tag": {Title: "Tags that move",
			Description: "What runs should be what was reviewed."}},
		Stats: report.Stats{Policies: len(rules), Rules: len(rules), Roots: 60, Resources: 60, Failed: n}}
	for i := range n {
		container, app, rule := i/(60*len(rules)), i/len(rules)%60, rules[i%len(rules)]
		path, line := fmt.Sprintf("clusters/production/apps/app-%02d/deployment.yaml", app), 12+7*container+i%len(rules)
		name := fmt.Sprintf("app-%02d", app)
		f := report.Finding{Policy: rule.policy, Rule: "autogen-container", Severity: rule.severity,
			Resource: deployment(fmt.Sprintf("team-%d", app%7), name), Operation: "UPDATE", Result: report.Fail,
			Action: report.Enforce, Field: fmt.Sprintf("/spec/template/spec/containers/%d/%s", container, rule.field),
			Message: strings.ReplaceAll(rule.message, "%s", name), Expected: rule.expected,
			Origin: &report.Origin{Path: path, StartLine: line, EndLine: line, StartColumn: 9, EndColumn: 20, How: "identity",
				Changed: app%10 != 0},
			Roots: []string{fmt.Sprintf("clusters/production/apps/app-%02d", app)}, New: i%12 != 0, Blocks: i%12 != 0,
			PolicyPath: "policies/" + rule.policy + ".yaml", PolicyLine: 8}
		if rule.severity == "low" {
			f.Action, f.Result, f.Blocks = report.Audit, report.Warn, false
		}
		r.Findings = append(r.Findings, f)
		if r.Excerpts[path] == nil {
			r.Excerpts[path] = map[int]string{}
		}
		r.Excerpts[path][line] = "        image: registry.example.com/web:latest"
	}
	return r
}

// Reports of hundreds of findings fit in a few screens, and listed and counted findings add up.
func TestManyFindingsFitInFewScreens(t *testing.T) {
	for _, n := range []int{314, 960} {
		r := many(n)
		var text strings.Builder
		if err := checkText(&text, r, Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("many.%d.text", n), text.String())
		if lines := strings.Count(text.String(), "\n"); lines > 300 {
			t.Errorf("%d findings take %d lines", n, lines)
		}
		if strings.Contains(text.String(), "&lt;") || strings.Contains(text.String(), "&amp;") {
			t.Error("the text has references of HTML")
		}
		golden(t, fmt.Sprintf("many.%d.markdown", n), Markdown(r, MarkdownOptions{BlobURL: blobURL, MaxBytes: 65_535,
			Page: "https://lintel.example.com/r/1"}))
	}
}

// With AllPlaces, every finding is written, however findings are grouped.
func TestAllPlaces(t *testing.T) {
	r := many(314)
	for _, by := range view.Groupings() {
		var text strings.Builder
		if err := checkText(&text, r, Options{GroupBy: view.Grouping(by), AllPlaces: true, Width: 160}); err != nil {
			t.Fatal(err)
		}
		for i := range r.Findings {
			f := &r.Findings[i]
			if !f.Blocks {
				continue
			}
			found := regexp.MustCompile(regexp.QuoteMeta(f.Origin.Path) + `:(\d+, )*` + fmt.Sprint(f.Origin.StartLine) + `\b`)
			if !found.MatchString(text.String()) {
				t.Fatalf("by %s: %s:%d is missing", by, f.Origin.Path, f.Origin.StartLine)
			}
		}
		if strings.Contains(text.String(), "--all-places") {
			t.Errorf("by %s: something is folded", by)
		}
	}
}

// The summary has one row for each different problem, links the page, and stays within its limit.
func TestMarkdownOfManyFindings(t *testing.T) {
	r := many(960)
	page := "https://lintel.example.com/r/1?a=b&c=\"<d>"
	got := Markdown(r, MarkdownOptions{BlobURL: blobURL, MaxBytes: 65_535, Page: page})
	if len(got) > 65_535 || strings.Contains(got, "left out") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
	for _, want := range []string{"All 960 findings: <a href=\"https://lintel.example.com/r/1?a=b&amp;c=&#34;&lt;d&gt;\">",
		"| ❌ | `disallow-privileged` | critical | enforce |", "60 resources:<br>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, p := range []string{"", "javascript:alert(1)", "/relative"} {
		if got := Markdown(r, MarkdownOptions{Page: p}); strings.Contains(got, "All 960 findings") {
			t.Errorf("%q is linked", p)
		}
	}
	verdict, totals := strings.Index(got, "**❌ The check fails"), strings.Index(got, "| | Policy | Severity")
	if findings := strings.Index(got, "#### Findings"); verdict != 0 || totals < 0 || findings < totals {
		t.Errorf("the order is verdict at %d, totals at %d, findings at %d", verdict, totals, findings)
	}
}

// Findings are separate entries if their message, expectation, action or state differs. A resource's own name in the
// message makes no difference.
func TestEqualFindingsAreOneEntry(t *testing.T) {
	one := many(1).Findings[0]
	one.New, one.Blocks, one.Message = true, true, "The name "+one.Resource.Name+" is taken."
	for name, c := range map[string]struct {
		change func(f *report.Finding)
		want   int
	}{
		"another place": {func(f *report.Finding) { f.Origin.Path = "other.yaml" }, 1},
		"another kind":  {func(f *report.Finding) { f.Rule = "container" }, 1},
		"its own name": {func(f *report.Finding) {
			f.Resource.Name, f.Message = "other", "The name other is taken."
		}, 1},
		"other words":        {func(f *report.Finding) { f.Message = "no" }, 2},
		"other expectation":  {func(f *report.Finding) { f.Expected = "true" }, 2},
		"another severity":   {func(f *report.Finding) { f.Severity = "low" }, 2},
		"audited":            {func(f *report.Finding) { f.Action, f.Result, f.Blocks = report.Audit, report.Warn, false }, 2},
		"in the base":        {func(f *report.Finding) { f.New = false }, 2},
		"another policy":     {func(f *report.Finding) { f.Policy = "p" }, 2},
		"another value":      {func(f *report.Finding) { f.Suggestion = &report.Suggestion{YAML: "x"} }, 2},
		"waits for approval": {func(f *report.Finding) { f.Exemption = &report.Exemption{State: report.Pending} }, 2},
	} {
		other := one
		origin := *one.Origin
		other.Origin = &origin
		c.change(&other)
		if got := view.Entries([]*report.Finding{&one, &other}, view.ByPolicy); len(got) != c.want {
			t.Errorf("%s: %d entries, want %d", name, len(got), c.want)
		}
	}
}

// A severity hides and counts the findings below it, and does not change the verdict.
func TestSeverity(t *testing.T) {
	r := many(314)
	for severity, hidden := range map[string]int{"critical": 261, "high": 208, "medium": 104, "low": 52, "info": 0} {
		var text strings.Builder
		if err := checkText(&text, r, Options{Severity: severity}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%d findings are less severe than %s", hidden, severity); hidden > 0 !=
			strings.Contains(text.String(), "less severe") || hidden > 0 && !strings.Contains(text.String(), want) {
			t.Errorf("%s: want %q in\n%s", severity, want, text.String())
		}
		if !strings.Contains(text.String(), view.Verdict(r)) || !strings.Contains(text.String(), "\n"+view.Counts(r)) {
			t.Errorf("%s: another verdict", severity)
		}
	}
}

// No line break is within a command.
func TestCommandsAreNotBroken(t *testing.T) {
	for width := 24; width < 90; width++ {
		for _, row := range Wrap("To see it run lintel check --draft-exceptions - --repo and (lintel fix) or "+
			"`lintel test --all` now", width) {
			for _, half := range []string{"lintel", "check", "--draft-exceptions", "(lintel", "`lintel", "test"} {
				if strings.HasSuffix(row, half) {
					t.Errorf("width %d breaks a command: %q", width, row)
				}
			}
		}
	}
}

// The table of totals fits a terminal of any width: it omits columns that the entries below contain.
func TestTotalsFit(t *testing.T) {
	for width := 30; width <= 120; width++ {
		var text strings.Builder
		if err := checkText(&text, many(314), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(text.String(), "\n\npolicy ")
		table, _, _ := strings.Cut("policy "+below, "\n\n")
		rows := strings.Split(table, "\n")
		if !strings.HasPrefix(rows[0], "policy ") || !strings.HasPrefix(rows[len(rows)-1], "6 policies ") {
			t.Fatalf("no table:\n%s", table)
		}
		for _, row := range rows {
			if textWidth(row) > width {
				t.Errorf("%d columns of %d: %q", textWidth(row), width, row)
			}
		}
	}
}

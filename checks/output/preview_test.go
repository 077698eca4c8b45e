package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// previewed returns a report of a change that edits policies.
func previewed() *report.Report {
	r := clear()
	label := &report.Origin{Path: "apps/web/base/deployment.yaml", StartLine: 4, EndLine: 4, StartColumn: 3,
		EndColumn: 9, How: report.Enclosing, Missing: "/labels/team"}
	r.Preview = &report.Preview{
		Settings: []string{"roots"}, RootsOut: []string{"examples/a", "examples/b"},
		Policies: []report.PolicyPreview{
			{Policy: "disallow-host-path", Edit: report.Removed, Path: "policies/host.yaml", Line: 1, Action: report.Enforce,
				Applies: 14, PreviewCounts: report.PreviewCounts{Passes: 1}, Roots: 1},
			{Policy: "require-labels", Edit: report.Added, Path: "policies/labels.yaml", Line: 1, Action: report.Enforce,
				Applies: 30, PreviewCounts: report.PreviewCounts{Fails: 12}, Roots: 4},
			{Policy: "require-probes", Edit: report.Changed, Path: "policies/probes.yaml", Line: 1, Action: report.Audit,
				Applies: 20, PreviewCounts: report.PreviewCounts{Relaxed: 2, Passes: 3, Undecided: 1}, Roots: 5},
			{Policy: "require-owner", Edit: report.Changed, Path: "policies/owner.yaml", Line: 9, State: report.PolicyBroken},
		},
		Exceptions: []report.ExceptionPreview{{Exception: "security/agent", Edit: report.Added,
			Path: "exceptions/agent.yaml", Line: 1, Lets: 3, Needless: 14, Roots: 2}},
		Findings: []report.PreviewFinding{
			{Effect: report.EffectFails, Policy: "require-labels", Rule: "team", Resource: deployment("shop", "web"),
				Resources: []report.Resource{deployment("shop-eu", "web")},
				Roots:     []string{"apps/web/overlays/production", "apps/web/overlays/production-eu"},
				Field:     "/metadata/labels/team", After: report.Fail, Message: "The label team is required.", Origin: label},
			{Effect: report.EffectRelaxed, Policy: "require-probes", Rule: "liveness", Resource: deployment("shop", "api"),
				Roots: []string{"apps/api"}, Before: report.Fail, After: report.Warn,
				Message: "A liveness probe is required.", Origin: &report.Origin{Path: "apps/api/deployment.yaml", StartLine: 12,
					EndLine: 12}},
			{Effect: report.EffectPasses, Policy: "disallow-host-path", Rule: "host-path",
				Resource: deployment("ops", "agent"), Roots: []string{"ops"}, Before: report.Fail, After: report.Skip,
				Message: "HostPath volumes are forbidden.", Origin: &report.Origin{Path: "ops/agent.yaml", StartLine: 8,
					EndLine: 10}, Exception: "security/agent"},
		},
		LeftOut: 7,
		Tests: &report.PreviewTests{Files: []string{"policies/.kyverno-test/kyverno-test.yaml"}, Passed: 4, Failed: 2,
			Excluded: 1},
		Warnings: []report.Problem{{Path: "policies/sign.yaml", Line: 1,
			Message: "rule verify-signature is not evaluated before merge: verifyImages needs a registry"}},
		Notices: []report.Problem{{Path: "policies/labels.yaml", Line: 1,
			Message: "Once this is merged: new policy require-labels (Enforce) would newly fail for 12 resources in 4 roots"}},
		Stats: report.PreviewStats{Roots: 20, Resources: 230, Unseen: 2, Unrendered: 1, Policies: 4},
	}
	return r
}

// hostilePreview returns a preview with s in every text.
func hostilePreview(s string) *report.Preview {
	resource := report.Resource{APIVersion: s, Kind: s, Namespace: s, Name: s}
	problem := []report.Problem{{Path: s, Line: 2, Column: 1, Message: s}}
	return &report.Preview{
		Settings: []string{s}, RootsIn: []string{s}, RootsOut: []string{s},
		Policies: []report.PolicyPreview{{Policy: s, Edit: report.Edit(s), Path: s, Line: 1, Action: report.Action(s),
			State: report.PolicyState(s), PreviewCounts: report.PreviewCounts{Fails: 1}}, {Policy: s, Edit: report.Removed, Path: s}},
		Exceptions: []report.ExceptionPreview{{Exception: s, Edit: report.Edit(s), Path: s, Line: 1, Lets: 1}},
		Findings: []report.PreviewFinding{{Effect: report.Effect(s), Policy: s, Rule: s, Resource: resource,
			Resources: []report.Resource{resource}, Roots: []string{s, s}, Field: s,
			Before: report.Result(s), After: report.Result(s), Message: s, Exception: s,
			Origin: &report.Origin{Path: s, StartLine: 2, EndLine: 2}}, {Policy: s}},
		LeftOut: 1, Tests: &report.PreviewTests{Files: []string{s}, Failed: 1,
			Rows: []report.TestRow{{File: s, Policy: s, Rule: s, Resource: resource, Reason: s}}},
		Warnings: problem, Notices: problem, Stats: report.PreviewStats{Roots: 1},
	}
}

func TestPreviewForms(t *testing.T) {
	for _, name := range Names[*report.Report]() {
		var with, without bytes.Buffer
		if err := Write(name, &with, previewed(), Options{}); err != nil {
			t.Fatal(err)
		}
		if err := Write(name, &without, clear(), Options{}); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "sarif", "junit", "policyreport":
			if with.String() != without.String() {
				t.Errorf("%s holds the preview:\n%s", name, with.String())
			}
		default:
			golden(t, "preview."+name, with.String())
		}
	}
	golden(t, "preview.links.markdown", Markdown(previewed(), MarkdownOptions{BlobURL: blobURL}))
}

// Differences that the text omits are counted.
func TestPreviewTextIsShort(t *testing.T) {
	r := previewed()
	for i := range 40 {
		f := r.Preview.Findings[0]
		f.Rule = fmt.Sprintf("rule-%d", i)
		r.Preview.Findings = append(r.Preview.Findings, f)
	}
	var b bytes.Buffer
	if err := checkText(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "rule-"); got != 17 || !strings.Contains(b.String(), "and 30 more places") {
		t.Errorf("%d of the rules are listed:\n%s", got, b.String())
	}
}

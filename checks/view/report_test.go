package view

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// The approvers of an exception depend on whether its policy is the repository's or the organisation's.
func TestWhoHasToApprove(t *testing.T) {
	above := &report.Approvers{Users: []string{"security"}, Count: 2}
	own := report.Finding{Result: report.Fail, New: true, Blocks: true}
	inherited, known := own, own
	inherited.Approvers = above
	known.New, known.Blocks, known.Approvers = false, false, above
	for name, c := range map[string]struct {
		findings []report.Finding
		want     string
	}{
		"the repository's":       {[]report.Finding{own, known}, "have it approved: 1 approving review by team owners."},
		"the organisation's":     {[]report.Finding{inherited}, "have it approved: 2 approving reviews by security."},
		"both policies":          {[]report.Finding{inherited, own}, "have it approved: 1 approving review by team owners, for the organisation's policies 2 approving reviews by security."},
		"nothing to be approved": {[]report.Finding{known}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &report.Report{Findings: c.findings, Approvers: &report.Approvers{Teams: []string{"owners"}}, Stats: report.Stats{Policies: 1}}
			var words string
			for _, s := range NextActions(r, true, "") {
				words += s.String()
			}
			if !strings.HasSuffix(words, c.want) || c.want == "" && words != "" {
				t.Errorf("%q does not end in %q", words, c.want)
			}
		})
	}
}

// If all blocking findings are about deleted objects, there are no lines to edit.
func TestNextActionsForDeletedObjects(t *testing.T) {
	deleted := report.Finding{Result: report.Fail, New: true, Blocks: true, Operation: "DELETE"}
	created, known := deleted, deleted
	created.Operation = "CREATE"
	known.Operation, known.New, known.Blocks = "UPDATE", false, false
	for want, findings := range map[string][]report.Finding{
		"Keep the objects named below": {deleted, known},
		"Edit the lines named below":   {deleted, created},
	} {
		r := &report.Report{Findings: findings, Stats: report.Stats{Policies: 1}}
		if got := NextActions(r, false, "lintel check --all --draft-exceptions -"); len(got) != 1 ||
			!strings.HasPrefix(got[0].String(), want) || got[0].Command() != "lintel check --all --draft-exceptions -" {
			t.Errorf("%v, want %q", got, want)
		}
	}
}

// Where the settings cannot be read, no review helps.
func TestNextActionsWhereNobodyMayApprove(t *testing.T) {
	r := &report.Report{Exceptions: []report.Exception{{Name: "ops/a", State: report.Pending}}, Stats: report.Stats{Policies: 1}}
	for nobody, want := range map[bool]string{false: "Ask for a review of ops/a.", true: "Mend .lintel.yaml of the base branch"} {
		r.Approvers = &report.Approvers{Nobody: nobody}
		if got := NextActions(r, false, ""); len(got) != 1 || !strings.HasPrefix(got[0].String(), want) {
			t.Errorf("%v, want %q", got, want)
		}
	}
}

// A command to copy contains no name that a shell would interpret.
func TestExplainCommandHasPlainNamesOnly(t *testing.T) {
	for name, want := range map[string]string{
		"shop/allowed-registries": "lintel explain shop/allowed-registries", "a.b_c-1": "lintel explain a.b_c-1",
		"-a": "", "a;b": "", "a b": "", "$(a)": "", "": "", "a\nb": "",
	} {
		if got := ExplainCommand(&report.Finding{Policy: name, PolicyPath: "policies/a.yaml"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestExplainCommandIsForPoliciesOfTheRepository(t *testing.T) {
	if got := ExplainCommand(&report.Finding{Policy: "team", PolicyPath: "https://example.com/o/p@1//team.yaml"}); got != "" {
		t.Errorf("%q", got)
	}
}

// The breakdown is empty if the verdict says the same.
func TestBreakdownIsEmptyIfTheVerdictSaysTheSame(t *testing.T) {
	blocking := report.Finding{Result: report.Fail, New: true, Blocks: true}
	known := report.Finding{Result: report.Fail}
	for want, list := range map[string][]report.Finding{
		"": {blocking, blocking}, "2 blocking findings, 1 already in the base": {blocking, known, blocking},
	} {
		if got := Breakdown(&report.Report{Findings: list}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Breakdown(&report.Report{}); got != "" {
		t.Errorf("%q of an empty report", got)
	}
}

// The counts of checked things leave out zeros.
func TestWorkLeavesOutZeros(t *testing.T) {
	for want, s := range map[string]report.Stats{
		"":                                 {},
		"1 resource in 1 root, 2 policies": {Resources: 1, Roots: 1, Policies: 2, Rules: 6},
		"3 resources in 2 roots, 1 policy, 1 check passed": {Resources: 3, Roots: 2, Policies: 1, Passed: 1},
		"1 policy, 1 changed Helm chart not checked":       {Policies: 1, Unchecked: 1},
	} {
		if got := Work(&report.Report{Stats: s}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

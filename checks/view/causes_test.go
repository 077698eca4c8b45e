package view

import (
	"fmt"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// Causes with the same kind and reason are grouped. A finding with several causes is listed once, in the largest group.
func TestCausesAreGroupedByReason(t *testing.T) {
	r := &report.Report{}
	source := func(name string) string {
		return r.Because(report.Cause{Kind: report.CauseSource, What: name, Reason: "no answer", Path: name + ".yaml", Line: 1})
	}
	broken := r.Because(report.Cause{Kind: report.CauseUnseen, What: "x", Reason: "it is broken"})
	for i := range 10 {
		f := report.Finding{Policy: "p", Rule: "r", Action: report.Enforce, Result: report.Unknown, New: true, Message: "m",
			Resource: report.Resource{Kind: "Pod", Name: fmt.Sprint("pod-", i)}, Origin: &report.Origin{Path: "a.yaml", StartLine: i + 1},
			PolicyPath: "p.yaml", PolicyLine: 6, Roots: []string{"apps"}}
		f.Causes = []string{broken, source(fmt.Sprint("s", i%3))}
		if i > 1 {
			f.Causes = f.Causes[1:]
		}
		r.Findings = append(r.Findings, f)
	}
	r.NotChecked = []report.NotChecked{{Root: "one", Path: "s0.yaml", Line: 1, Reason: "no answer", Cause: source("s0")},
		{Root: "two", Path: "s0.yaml", Line: 1, Reason: "no answer", Cause: source("s0")},
		{Root: "three", Path: "old.yaml", Reason: "of a report that has no causes"}}
	r.Sort(func(string) bool { return false })
	r.NotChecked[0].Cause = "" // of old.yaml
	got := ""
	for _, c := range CausesOf(r, ByPlace(r.Findings)) {
		p := c.Problem()
		got += fmt.Sprintf("%s: %s, %d causes, %d findings\n", c.Label(), p.String(), len(c.List), len(c.Findings))
		for _, w := range c.Waiting() {
			got += fmt.Sprintf("  %d %s: %s\n", len(w.Items), w.Label, w.Items[0])
		}
	}
	const want = `undecided: what is deployed from x is not known: it is broken, 1 causes, 0 findings
  1 waiting: 2 rules on 2 objects
undecided: 3 remote sources could not be fetched: no answer, 3 causes, 10 findings
  1 to do: run "lintel fetch" with network access, or ask the operator of the server to allow this source
  3 causes: s0 (4 rules on 4 objects, 2 roots) s0.yaml:1
  2 unchecked: one
  1 policy: p / r (enforce) p.yaml:6
  10 objects: Pod pod-0 a.yaml:1
  1 roots: apps
not checked: old.yaml: three is not checked: of a report that has no causes, 1 causes, 0 findings
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

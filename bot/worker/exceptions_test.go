package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// A refused exception is one that does not count; the run says who refused it.
func TestRefusedExceptions(t *testing.T) {
	b := newBench(t)
	b.waits()
	b.votes("bob", refuses)
	b.sandbox.run = func(ctx context.Context, c report.Change) (*report.Report, error) {
		if len(c.Reviews) != 1 || c.Reviews[0].State() != report.Refused ||
			!slices.Equal(c.Reviews[0].By(), []string{"bob"}) {
			t.Errorf("checked with the reviews %+v", c.Reviews)
		}
		return reviewed(ctx, c)
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); run.Conclusion != "failure" || !strings.Contains(run.Summary, "bob") {
		t.Errorf("%s, shown %q", run.Conclusion, run.Summary)
	}
	if len(b.sandbox.asked) != 1 || len(b.sandbox.changes) != 1 {
		t.Errorf("%d inspections and %d checks, want one of each", len(b.sandbox.asked), len(b.sandbox.changes))
	}
}

// Another approval of several that are needed changes what people read, and so makes another run.
func TestEachApprovalIsShown(t *testing.T) {
	b := newBench(t)
	b.waits()
	b.sandbox.inspection.Approvers.Count = 2
	b.sandbox.run = reviewed
	for i, approved := range []bool{false, true, true} {
		if b.task.Sequence = uint64(i + 1); approved {
			b.votes("bob", approves)
		}
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.hub.Runs) != 2 {
		t.Errorf("%d runs, want two: the third job finds nothing new", len(b.hub.Runs))
	}
}

// Drafts are made for the head for which somebody asked, and shown in its text; the button is there while
// something blocks that no exception waits for.
func TestDrafts(t *testing.T) {
	b := newBench(t)
	finding := report.Finding{Result: report.Fail, Blocks: true, New: true,
		Origin: &report.Origin{Path: "a.yaml", StartLine: 1}}
	b.sandbox.run = func(_ context.Context, c report.Change) (*report.Report, error) {
		r := &report.Report{Conclusion: report.Failure, Findings: []report.Finding{finding}}
		if c.Drafts {
			r.Drafts = []report.Draft{{Path: "exceptions/a.yaml", YAML: "kind: PolicyException\n"},
				{Path: "exceptions/long.yaml", YAML: strings.Repeat("y", maxAddress)}}
		}
		return r, nil
	}
	b.pr.HeadRef, b.pr.HeadRepo = "fix/web", "fork/r"
	buttons := func() (list []string) {
		for _, a := range b.last(t).Actions {
			if len(a.Label) > 20 || len(a.Description) > 40 || len(a.Identifier) > 20 {
				t.Errorf("GitHub refuses the button %+v", a)
			}
			list = append(list, a.Identifier)
		}
		return list
	}
	do := func() {
		t.Helper()
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
	}
	do()
	if run := b.last(t); strings.Contains(run.Text, "exceptions/") || !slices.Equal(buttons(), []string{"rerun", "draft-exceptions"}) {
		t.Errorf("not asked for: %q with %v", run.Text, buttons())
	}
	b.jobs.drafts = headA
	b.demand("d-2")
	do()
	if run := b.last(t); run.ID != 2 || !strings.Contains(run.Text, "exceptions/long.yaml") ||
		strings.Count(run.Text, "/new/") != 1 || !strings.Contains(run.Text,
		"/fork/r/new/fix/web?filename=exceptions%2Fa.yaml&value=kind%3A%20PolicyException%0A") {
		t.Errorf("asked for: run %d, %q", run.ID, run.Text)
	}
	b.pr.HeadSHA = headB
	b.task.Message.Fresh, b.task.Sequence = false, 9
	do()
	if run := b.last(t); strings.Contains(run.Text, "exceptions/") {
		t.Errorf("another head: %q", run.Text)
	}
	finding.Exemption = &report.Exemption{State: "pending"}
	b.task.Sequence = 10
	b.demand("d-3")
	do()
	if !slices.Equal(buttons(), []string{"rerun"}) {
		t.Errorf("all of it waits, and there are %v", buttons())
	}
}

// What a policy passes by alone is known after the check only: the reviews are asked then, and the change is checked
// again where they decided.
func TestReviewsOfWhatPoliciesLookUp(t *testing.T) {
	for _, c := range []struct {
		name     string
		approved bool
		checks   int
		want     string
	}{
		{"nobody approved", false, 1, "action_required"},
		{"approved", true, 2, "success"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if c.approved {
				b.votes("bob", approves)
			}
			var shown *report.Report // the last one is published
			b.sandbox.run = func(_ context.Context, change report.Change) (*report.Report, error) {
				e := report.Exception{Name: "ConfigMap ops/allowed", Path: "cm.yaml", Blob: "7", Terms: []string{"x"}, Object: true, Lets: 1,
					State: report.Pending}
				for _, r := range change.Reviews {
					if r.Of(e.Path, e.Blob, e.Terms) {
						e.State, e.Review = r.State(), &r
					}
				}
				rep := &report.Report{Exceptions: []report.Exception{e}, Stats: report.Stats{Policies: 1}}
				rep.Conclude()
				shown = rep
				return rep, nil
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if got := b.last(t).Conclusion; got != c.want || len(b.sandbox.changes) != c.checks ||
				shown.Exceptions[0].Review == nil {
				t.Errorf("%s after %d checks, want %s after %d; %+v", got, len(b.sandbox.changes), c.want, c.checks, shown)
			}
		})
	}
}

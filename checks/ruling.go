package checks

import (
	"context"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
)

// ruling is what a change is judged by, and what it would change of that.
type ruling struct {
	*rules.Ruleset                // in effect
	own            *rules.Ruleset // those of the head that the change adds or edits; nil where none can be
	decision       *exceptions.Decision
	before, after  *rules.Sources   // before and after the merge; after is nil where the change cannot touch rules
	problems       []report.Problem // why rules are not, or would not be, in effect
}

// rule finds and compiles the rules of both sides.
func rule(ctx context.Context, change report.Change, repo *repository, k *kept) (*ruling, error) {
	t := repo.trees
	out := &ruling{problems: rules.Missing(t.Rules.Tree, repo.settings.Policies)}
	var err error
	if out.before, err = rules.Find(ctx, t.Rules, repo.settings); err != nil {
		return nil, err
	}
	out.Ruleset = rules.Compile(out.before, change.Now, &k.compiler)
	out.problems = append(append(out.problems, out.before.Problems...), out.Errors...)
	var proposed []*engine.Exception
	if t.ProposesRules() {
		if err := out.propose(ctx, change, repo); err != nil {
			return nil, err
		}
		proposed = out.own.Exceptions
	}
	out.decision = decide(change, repo, out.Exceptions, proposed)
	return out, nil
}

// tell puts what is wrong with the rules into the report, and how many there are that were not seen.
func (r *ruling) tell(out *report.Report, seen map[string]bool) {
	out.Fail(r.problems...)
	out.Warnings = append(out.Warnings, r.Warnings...)
	switch {
	case out.All:
		out.Warnings = append(out.Warnings, onceAKind(r.Deprecated)...)
	case r.own != nil:
		out.Warnings = append(out.Warnings, r.own.Deprecated...)
	}
	r.Count(&out.Stats, seen)
}

// onceAKind keeps of the problems of one message the first, which says how many there are.
func onceAKind(list []report.Problem) (kinds []report.Problem) {
	list = report.SortProblems(slices.Clone(list))
	more := map[string]int{}
	for _, p := range list {
		if more[p.Message]++; more[p.Message] == 1 {
			kinds = append(kinds, p)
		}
	}
	for i := range kinds {
		if n := more[kinds[i].Message] - 1; n > 0 {
			kinds[i].Message += " (and in " + report.Count(n, "place", "places") + " more)"
		}
	}
	return kinds
}

// decide decides which exceptions count.
func decide(change report.Change, repo *repository, merged, proposed []*engine.Exception) *exceptions.Decision {
	return exceptions.Decide(exceptions.Input{
		Merged: merged, Proposed: proposed, Now: change.Now, Reviews: change.Reviews, Approve: change.Approve,
		Blob: repo.trees.Head.Blob,
		Since: func(e *engine.Exception) (time.Time, bool) {
			return repo.objects.LastChange(repo.trees.History(slices.Contains(proposed, e)), e.Path)
		},
	})
}

// propose reads the rules of the head: broken ones must not be merged, exceptions may be approved, and what becomes of
// everything is previewed.
func (out *ruling) propose(ctx context.Context, change report.Change, repo *repository) error {
	t := repo.trees
	head, err := rules.Find(ctx, t.Head, repo.settings)
	if err != nil {
		return err
	}
	proposal := rules.NewProposal(t, out.before, head)
	out.own = rules.Compile(proposal.Own(head), change.Now, nil)
	out.problems = append(append(out.problems, head.Problems...), out.own.Errors...)
	if !proposal.Any() {
		return nil
	}
	base := out.before
	if own := repo.proposed; own != nil {
		if head, err = rules.Find(ctx, t.Head, own); err != nil {
			return err
		}
		if base, err = rules.Find(ctx, t.Rules, own); err != nil {
			return err
		}
		proposal = rules.NewProposal(t, base, head)
		out.problems = append(append(out.problems, head.Problems...), base.Problems...)
	}
	out.after = proposal.Merge(base, head)
	out.problems = append(out.problems, rules.Lost(t, out.after.Settings.Policies)...)
	return nil
}

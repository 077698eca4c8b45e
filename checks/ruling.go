package checks

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/gitops"
)

// ruling is the rules that a change is judged by, and the rules that it proposes.
type ruling struct {
	*rules.Ruleset                // the rules in effect
	own            *rules.Ruleset // rules of the head that the change adds or edits; nil if the change cannot touch rules
	brought        *rules.Introduced
	decision       *exceptions.Decision
	before, after  *rules.Sources   // before and after the merge; after is nil if the change cannot touch rules
	left           *rules.Sources   // where the head left the base branch; nil if unknown or not needed
	proposals      []*rules.Sources // rules of the head, according to the settings of each side
	problems       []report.Problem // why rules are not, or would not be, in effect because of the change
	standing       []report.Problem // why rules of the base branch are not in effect, independent of the change
	missing        []report.Problem // policies that the settings name and that exist neither on the base branch nor at the head
}

// rule finds and compiles the rules of both sides.
func rule(ctx context.Context, repo *repository) (_ *ruling, err error) {
	t := repo.trees
	out := &ruling{brought: &rules.Introduced{}}
	if out.before, err = rules.Find(ctx, t.Rules, repo.settings); err != nil {
		return nil, err
	}
	out.Ruleset = rules.Compile(out.before, repo.change.Now, &repo.kept.compiler)
	out.missing = rules.Missing(t.Rules, repo.settings.PolicyGlobs())
	out.standing = slices.Concat(out.before.Problems, out.Errors)
	out.problems = out.PassedOn
	var proposed, narrowed []*engine.Exception
	if t.ProposesRules() {
		if err := out.propose(ctx, repo); err != nil {
			return nil, err
		}
		narrowed = report.Kept(out.own.Exceptions, out.brought.Narrows)
		out.own.Exceptions = brought(out.own.Exceptions, out.brought)
		proposed = out.own.Exceptions
	}
	removed := func(e *engine.Exception) bool {
		left, is := out.before.ClustersOf(e)
		return is && len(left) > 0 && len(out.keeps(e, left)) == 0
	}
	if out.after != nil && !repo.change.All {
		loses, removes := removed, rules.Removes(out.before, out.after)
		removed = func(e *engine.Exception) bool { // settings of the change may only no longer name it
			return loses(e) || (repo.proposed == nil || repo.trees.Changed(e.Path)) && removes(e)
		}
	}
	out.decision = decide(repo, out.Exceptions, proposed, narrowed, out.before, out.brought, removed)
	return out, nil
}

// clustersOf lists the clusters that have an exception, or with nil a file of other rules; none: nothing tells which.
func (r *ruling) clustersOf(t *diff.Trees, file string, of *engine.Exception) (list []gitops.Cluster) {
	if of == nil {
		return diff.Have(t.Rules.Roots, file)
	}
	if !r.decision.IsProposed(of) && !r.brought.Narrows(of) {
		list, _ = r.before.ClustersOf(of)
		return r.keeps(of, list)
	}
	for _, from := range r.proposals {
		clusters, is := from.ClustersOf(of)
		if is && len(clusters) == 0 {
			return nil
		}
		list = report.Union(list, clusters)
	}
	return list
}

// keeps returns those of the clusters from which the change does not take an exception whose file it leaves alone.
func (r *ruling) keeps(e *engine.Exception, clusters []gitops.Cluster) []gitops.Cluster {
	if r.left == nil || len(r.proposals) == 0 {
		return clusters
	}
	had, _ := r.left.ClustersOf(e)
	has, known := r.proposals[0].ClustersOf(e)
	return slices.DeleteFunc(slices.Clone(clusters), func(c gitops.Cluster) bool {
		return known && len(has) > 0 && slices.Contains(had, c) &&
			!slices.ContainsFunc(has, func(now gitops.Cluster) bool { return !now.Apart(c) })
	})
}

// tell adds the problems and the number of the rules to the report, except for rules that were seen before.
func (r *ruling) tell(out *report.Report, seen map[string]bool) {
	out.Fail(r.problems...)
	switch {
	case out.All:
		for _, p := range r.Deprecated { // one warning for each kind
			p.Common = p.Message
			out.Warnings = append(out.Warnings, p)
		}
	case r.own != nil:
		out.Warnings = append(out.Warnings, r.own.Deprecated...)
	}
	r.Count(&out.Stats, seen)
}

// decide decides which exceptions count.
func decide(repo *repository, merged, proposed, narrowed []*engine.Exception, before *rules.Sources,
	brought *rules.Introduced, removed func(*engine.Exception) bool) *exceptions.Decision {
	return exceptions.Decide(exceptions.Input{
		Merged: merged, Proposed: proposed, Narrowed: narrowed, Removed: removed, Now: repo.change.Now, Reviews: repo.change.Reviews, Approve: repo.change.Approve,
		Blob: repo.trees.Head.Blob, Terms: repo.terms(brought),
		Since: func(e *engine.Exception) (time.Time, bool) {
			own := slices.Contains(proposed, e) || slices.Contains(narrowed, e)
			from := before.RenderedFrom
			if own {
				from = brought.RenderedFrom
			}
			return rules.Since(repo.objects, repo.trees.History(own), e, from(e))
		},
	})
}

// terms returns a function that returns the terms of an exception of the change.
func (r *repository) terms(of *rules.Introduced) func(e *engine.Exception) []string {
	return func(e *engine.Exception) []string { return of.Terms(r.cluster, e) }
}

// propose reads the rules of the head. Invalid policies must not be merged, exceptions may be approved, and the effect
// of all changed rules is previewed.
func (out *ruling) propose(ctx context.Context, repo *repository) error {
	t := repo.trees
	head, err := rules.Find(ctx, t.Head, repo.settings)
	if err != nil {
		return err
	}
	out.proposals = append(out.proposals, head)
	if out.brought, err = repo.bring(ctx, out.before, head); err != nil {
		return err
	}
	if out.left, err = repo.left(ctx, out.before, head, repo.settings); err != nil {
		return err
	}
	proposal := rules.Proposal{Tip: out.before, Base: out.left, Head: head}
	own := &rules.Sources{Settings: head.Settings, Policies: proposal.Own(), Exceptions: out.brought.Sources}
	out.own = rules.Compile(own, repo.change.Now, nil)
	wrong := slices.Concat(head.Problems, out.own.Errors)
	defer func() { out.compare(repo, head, wrong) }()
	if repo.proposed == nil && !proposal.Any() && !out.brought.Differs {
		return nil
	}
	if with := repo.proposed; with != nil {
		if proposal.Head, err = repo.find(ctx, rules.Find, t.Head, with); err != nil {
			return err
		}
		out.proposals = append(out.proposals, proposal.Head)
		if proposal.Tip, err = repo.find(ctx, rules.Find, t.Rules, with); err != nil {
			return err
		}
		if proposal.Base, err = repo.left(ctx, proposal.Tip, proposal.Head, with); err != nil {
			return err
		}
		head = proposal.Head
		wrong = slices.Concat(wrong, head.Problems, proposal.Tip.Problems)
	}
	out.after = proposal.Merge()
	wrong = append(wrong, rules.Lost(t, out.after.Settings.PolicyGlobs())...)
	return nil
}

// left finds the rules where the head left the base branch, according to settings; nil without such a commit.
func (r *repository) left(ctx context.Context, tip, head *rules.Sources, s *settings.Settings) (*rules.Sources, error) {
	switch t := r.trees; {
	case t.Base.ID == "":
		return nil, nil
	case t.Base.Tree.ID() == t.Rules.Tree.ID() || head.SameAs(tip):
		return tip, nil
	default:
		return r.find(ctx, rules.Find, t.Base, s)
	}
}

// brought returns the exceptions of a list that the change brings into effect.
func brought(list []*engine.Exception, by *rules.Introduced) []*engine.Exception {
	return slices.DeleteFunc(list, func(e *engine.Exception) bool { return !by.Has(e) })
}

// bring finds the exceptions that the change brings into effect, also through its own settings. Exceptions that were in
// effect where the head left the base branch, according to the settings there, are not the change's.
func (r *repository) bring(ctx context.Context, tip, head *rules.Sources) (*rules.Introduced, error) {
	t := r.trees
	heads, bases := []*rules.Sources{head}, []*rules.Sources(nil)
	if r.proposed != nil {
		own, err := r.find(ctx, rules.FindExceptions, t.Head, r.proposed)
		if err != nil {
			return nil, err
		}
		heads = append(heads, own)
	}
	if t.Base.ID == "" {
		return rules.Introduce(t, heads, tip), nil
	}
	by := []*settings.Settings{r.settings}
	if t.Base.Blob(settings.Path) != t.Rules.Blob(settings.Path) {
		was, problems, err := settings.Read(t.Base.Tree)
		if err != nil {
			return nil, err
		}
		if len(problems) == 0 {
			by = append(by, was.In(r.cluster))
		}
	}
	for _, s := range by {
		base, err := r.find(ctx, rules.FindExceptions, t.Base, s)
		if err != nil {
			return nil, err
		}
		bases = append(bases, base)
	}
	return rules.Introduce(t, heads, tip, bases...), nil
}

// compare separates the problems that the change introduces from those of the base branch, and removes those that it
// fixes. own are the problems of the rules that the change adds or edits.
func (out *ruling) compare(repo *repository, head *rules.Sources, own []report.Problem) {
	t := repo.trees
	gone := func(p report.Problem) bool {
		if hasProblem(out.before.Problems, p) {
			return !hasProblem(head.Problems, p)
		}
		return t.Changed(p.Path)
	}
	base := slices.Concat(out.standing, out.missing)
	out.problems, out.standing = append(out.problems, broughtProblems(base, own)...), stays(out.standing, own, gone)
	missing := rules.Missing(t.Head, cmp.Or(repo.proposed, repo.settings).PolicyGlobs())
	out.missing = stays(out.missing, own, func(p report.Problem) bool { return !hasProblem(missing, p) })
}

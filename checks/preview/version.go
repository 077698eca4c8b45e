package preview

import (
	"context"
	"reflect"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
)

// side evaluates one version of the rules for the head, as a check of the whole branch does: no resource has an earlier
// version, and the requests have no particular user.
type side struct {
	rules    *rules.Ruleset
	decision *exceptions.Decision
	sides    *diff.Sides // both versions share it where their settings allow that
	declared *declared.Objects
	checks   []builtin.Check
	reviewer *review.Reviewer
	view     review.View
	has      func(roots.Root) bool     // selects the roots to evaluate
	of       func(roots.Root) []string // the clusters of a root
}

// newSide prepares a version of the rules. like is the other version, nil for the first; both share a renderer if their
// settings allow it.
func newSide(in Input, set *rules.Ruleset, decision *exceptions.Decision, like *side) (*side, error) {
	s := &side{rules: set, decision: decision}
	switch {
	case like != nil && set.Settings.SameRoots(like.rules.Settings) &&
		reflect.DeepEqual(set.Settings.Clusters, like.rules.Settings.Clusters):
		s.sides = like.sides
	default:
		head := in.Trees.Head
		config := render.Config{Limits: set.Settings.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: in.Renderings,
			Sources: in.Sources}
		if set.Settings.SameRoots(in.Before.Settings) {
			head.Roots = head.Roots.With(config)
		} else {
			var err error
			options := set.Settings.RootOptions(in.Repository, in.Branches)
			if head.Roots, err = deploy.Open(head.Tree, options, in.Graphs, config); err != nil {
				return nil, err
			}
			head.Roots = head.Roots.Settled()
		}
		head.Roots.ForClusters(set.Settings.Rendered(set.Settings.Of(head.Roots)))
		s.sides = &diff.Sides{Trees: &diff.Trees{Head: head}, Head: head.Roots, All: true}
	}
	above := in.Organization
	if like != nil {
		above = in.OrganizationAfter
	}
	if like != nil && s.sides == like.sides && slices.Equal(set.Settings.Context, like.rules.Settings.Context) &&
		above == in.Organization {
		s.declared = like.declared
	} else {
		s.declared = declared.New(s.sides.Head, set.Settings.Context)
		s.declared.Secrets, s.declared.Above = in.Secrets, above
	}
	s.checks = builtin.For(builtin.FactsOf(set.Settings, s.declared))
	s.reviewer = s.reviewerWith(decision.Effective)
	s.view = review.ViewOf(set, decision, in.Trees)
	among := []*deploy.Set{s.sides.Head}
	if base := in.Trees.Base.Roots; base != nil {
		among = append(among, base)
	}
	s.of, s.has = set.Settings.Of(among...), func(r roots.Root) bool { return in.Has == nil || in.Has(r) }
	if like != nil {
		s.has = set.Settings.Keeps(like.rules.Settings, like.has, s.of)
	}
	return s, nil
}

// sameFacts reports whether the built-in checks see the same in both versions.
func (s *side) sameFacts(other *side) bool {
	a, b := s.rules.Settings, other.rules.Settings
	return s.sides == other.sides && s.declared == other.declared && a.Version() == b.Version() &&
		slices.Equal(a.Complete(), b.Complete())
}

func (s *side) reviewerWith(counting []*engine.Exception) *review.Reviewer {
	return review.By(s.rules, s.checks, report.User{}, s.declared, counting)
}

func (s *side) render(ctx context.Context, root roots.Root) (*diff.Root, error) {
	out, err := s.sides.Render(ctx, root)
	if err == nil && out.Known {
		s.declared.Rendered(root, out.Deployed, out.Head...)
	}
	if err == nil {
		out.Pairs = slices.DeleteFunc(out.Pairs, func(p *diff.Pair) bool { return s.declared.Exists(ctx, p, false) })
	}
	return out, err
}

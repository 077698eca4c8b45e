package checks

import (
	"context"
	"slices"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/preview"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/render/roots"
)

// proposed previews a change of another repository from which this repository takes rules, see report.Change.Proposed.
// It evaluates everything that the head deploys with the rules before and after that change. Both sides have the same
// tree.
func (c *Checker) proposed(ctx context.Context, change report.Change, repo *repository, k *kept) (*report.Report, error) {
	out := &report.Report{All: true}
	if wanted, err := repo.remote.Wanted(repo.settings.Sources.Allow); wanted != nil || err != nil {
		return &report.Report{Wanted: wanted}, err
	}
	_, sources := repo.remote.Sources()
	secrets := &mask.Values{}
	clusters := repo.clusters()
	for _, cluster := range append([]string{""}, repo.settings.ClusterNames()...) {
		own, has := repo.in(cluster), func(roots.Root) bool { return true }
		if len(repo.settings.Clusters) > 0 {
			has = func(r roots.Root) bool { return slices.Contains(clusters(r), cluster) }
		}
		before, err := rules.Find(ctx, repo.trees.Rules, own.settings)
		if err != nil {
			return nil, err
		}
		after, err := rules.Find(ctx, repo.trees.Head, own.proposed)
		if err != nil {
			return nil, err
		}
		above, err := repo.above(repo.trees.Rules, own.settings, &k.renderings)
		if err != nil {
			return nil, err
		}
		aboveAfter, err := repo.above(repo.trees.Head, own.proposed, &k.renderings)
		if err != nil {
			return nil, err
		}
		if !repo.trees.Head.PolicySources.Instead.Met && !repo.trees.Rules.PolicySources.Instead.Met {
			continue
		}
		out.Concerned = true
		p, problems, err := preview.Run(ctx, preview.Input{
			Trees: repo.trees, Before: before, After: after, Now: change.Now, Repository: change.Repository,
			Branches: change.Branches, Has: has, Graphs: &k.graphs, Renderings: &k.renderings,
			Limit: c.PreviewTime, Objects: repo.objects, Sources: sources, Secrets: secrets,
			Organization: above, OrganizationAfter: aboveAfter,
		})
		if err != nil {
			return nil, err
		}
		out.Preview = out.Preview.With(p)
		out.Fail(broughtProblems(before.Problems, slices.Concat(after.Problems, problems))...)
		out.Fail(unread(before, change.Proposed.Base)...)
		out.Fail(unread(after, change.Proposed.Head)...)
	}
	if wanted, err := repo.remote.Wanted(repo.settings.Sources.Allow); wanted != nil || err != nil {
		return &report.Report{Wanted: wanted}, err
	}
	out.ConcludeProposed()
	var from []report.RemoteSource // others decide by these addresses: masking values of Secrets must not change one
	if out.Preview != nil {
		from = out.Preview.RemoteSources
	}
	mask.Report(out, secrets)
	out.RemoteSources = from
	return out, nil
}

// unread returns the problems of rules if none of them were read from a revision.
func unread(found *rules.Sources, revision string) []report.Problem {
	if slices.ContainsFunc(found.Resolved, func(r report.Resolved) bool { return r.Ref == revision }) {
		return nil
	}
	return found.Problems
}

package checks

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// elsewhere sets the other repositories and files from which the commits take rules.
func (r *repository) elsewhere() {
	change := r.change
	e := diff.PolicySources{Host: change.Host, Policies: change.Policies, Files: change.PolicyFiles, Defaults: change.Defaults,
		Graphs: r.kept.graphOf}
	base, head := r.remote.Sources()
	for _, c := range []*diff.Commit{&r.trees.Rules, &r.trees.Base, &r.trees.Head} {
		c.PolicySources = e
		c.PolicySources.Sources = base
	}
	r.trees.Head.PolicySources.Sources = head
	if p := change.Proposed; p != nil {
		r.trees.Rules.PolicySources.Instead = &diff.Instead{Addresses: p.Addresses, Refs: p.Refs, Revision: p.Base}
		r.trees.Head.PolicySources.Instead = &diff.Instead{Addresses: p.Addresses, Refs: p.Refs, Revision: p.Head}
	}
}

// inherit returns settings combined with the organisation's settings. If those cannot be fetched or read, the
// organisation's policies cannot be in effect; rules.Find reports that.
func (r *repository) inherit(c diff.Commit, own *settings.Settings) (*settings.Settings, []report.Problem, error) {
	if c.PolicySources.Defaults == "" {
		return own, nil, nil
	}
	from := settings.Default()
	want := remote.Want{Kind: remote.Git, URL: c.PolicySources.Defaults}
	c.PolicySources.Seek(want, true)
	_, src, err := c.PolicySources.Open(want)
	switch {
	case err == nil:
		has := func(p string) bool { _, err := src.Tree.Entry(p); return !errors.Is(err, tree.ErrNotExist) }
		if path.Base(c.PolicySources.Defaults) == ".github" && !slices.ContainsFunc(settings.Paths(), has) {
			return own, nil, nil // a repository .github without settings has other purposes
		}
		if from, _, err = settings.Read(src.Tree); err != nil { // rules.Find reports errors of these settings
			return nil, nil, err
		}
	case !errors.Is(err, remote.ErrWanted) && !errors.As(err, new(*remote.Failure)):
		return nil, nil, err
	}
	out, ignored := own.Inherit(from)
	return out, ignored, nil
}

// above returns the context of the organisation's settings at a commit. It is nil if there is none, or if the settings
// cannot be fetched; rules.Find reports the latter.
func (r *repository) above(c diff.Commit, s *settings.Settings) (*declared.Above, error) {
	from := s.Inherits()
	if from == nil || len(from.Context) == 0 {
		return nil, nil
	}
	_, c, err := c.PolicySources.Open(remote.Want{Kind: remote.Git, URL: c.PolicySources.Defaults})
	if errors.Is(err, remote.ErrWanted) || errors.As(err, new(*remote.Failure)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config := render.Config{Limits: from.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: r.config.Cache}
	set, err := deploy.Open(c.Tree, from.RootOptions(nil, nil), c.PolicySources.Graph(r.trees.Rules.PolicySources.Defaults), config)
	if err != nil {
		return nil, err
	}
	return declared.NewAbove(set, from.Context), nil
}

// seek requests the repositories of rules for both sides, so that they are fetched together with other sources.
func (r *repository) seek() {
	ask := func(c diff.Commit, s *settings.Settings) {
		if s == nil {
			return
		}
		want := func(list []report.PolicySource, given bool) {
			for _, source := range list {
				c.PolicySources.Seek(c.PolicySources.Want(source), given)
			}
		}
		for _, cluster := range append([]string{""}, s.ClusterNames()...) {
			want(s.In(cluster).Policies.External(), false)
		}
		want(c.PolicySources.Policies, true)
		if from := s.Inherits(); from != nil {
			want(from.Policies.External(), true)
		}
	}
	ask(r.trees.Rules, r.settings)
	ask(r.trees.Head, r.proposed)
}

// maxGraphs is the number of other repositories whose graphs are cached.
const maxGraphs = 8

// graphOf returns the cache for the graph of another repository.
func (k *kept) graphOf(address string) *graph.Cache {
	if k.others == nil || len(k.others) >= maxGraphs && k.others[address] == nil {
		k.others = map[string]*graph.Cache{}
	}
	if k.others[address] == nil {
		k.others[address] = &graph.Cache{Disk: k.graphs.Disk, Repository: address}
	}
	return k.others[address]
}

// approvers returns who approves an exception instead of the repository's own approvers. These are the organisation's
// approvers, for exceptions that cover an inherited policy. It is nil if the organisation names no approvers.
func (r *repository) approvers(found *rules.Sources) func(e *engine.Exception) *report.Approvers {
	whom := r.settings.OrganizationApprovers()
	if whom == nil {
		return nil
	}
	names := found.Inherited()
	if r.settings.Demands() {
		names = append(names, builtin.Policy)
	}
	return func(e *engine.Exception) *report.Approvers {
		opens := func(name string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return name == n || pattern.Wildcard(name, n) })
		}
		if slices.ContainsFunc(e.Policies(), opens) {
			return whom
		}
		return nil
	}
}

// inherits reports whether a finding is of a policy of the organisation.
func (r *repository) inherits(f report.Finding) bool {
	from := r.trees.Rules.PolicySources.Defaults
	return from != "" && strings.HasPrefix(f.PolicyPath, rules.Address(from, ""))
}

// resolved lists the commits to which references to repositories of policies were resolved, each once.
func resolved(outcomes []*outcome) (list []report.Resolved) {
	for _, o := range outcomes {
		moving := func(r report.Resolved) bool { return r.Ref != r.Revision }
		list = report.Union(list, report.Kept(o.rules.before.Resolved, moving))
	}
	return list
}

// ruleSources lists the other repositories that contain rules in effect, each once.
func ruleSources(outcomes []*outcome) (list []report.RuleSource) {
	for _, o := range outcomes {
		for _, r := range o.rules.before.Resolved {
			list = append(list, report.RuleSource{Name: r.Name, Ref: r.Ref})
		}
	}
	slices.SortFunc(list, func(a, b report.RuleSource) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Ref, b.Ref))
	})
	return slices.Compact(list)
}

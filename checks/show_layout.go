package checks

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// layout lists the roots and the policies of the tree; with Before, also the roots that differ.
func (s *shower) layout(ctx context.Context) (*report.Layout, error) {
	head, err := s.commit(s.tree)
	if err != nil {
		return nil, err
	}
	out := &report.Layout{Roots: []report.LaidRoot{}, Problems: s.problems}
	for _, r := range head.Roots.List() {
		laid := report.LaidRoot{Name: r.Name, Kind: r.As.String(), Path: r.Path, By: head.Roots.DeployedBy(r.Root)}
		if r.Kind == roots.Chart && len(laid.By) == 0 {
			laid.Values = s.values(r.Path)
		}
		out.Roots = append(out.Roots, laid)
	}
	found, err := rules.Find(ctx, head, s.settings)
	if err != nil {
		return nil, err
	}
	out.Policies = report.Mapped(rules.Documents(found.Policies, false), func(d engine.RuleDocument) report.LaidPolicy {
		return report.LaidPolicy{Kind: d.Kind, Name: d.Name, Path: d.Path}
	})
	if s.Before == "" {
		return out, nil
	}
	out.Reached, err = s.reached(ctx, head)
	return out, err
}

// policies explains the policies of the tree, including those of single clusters.
func (s *shower) policies(ctx context.Context) ([]report.Explanation, error) {
	head, err := s.commit(s.tree)
	if err != nil {
		return nil, err
	}
	head.PolicySources = diff.PolicySources{Sources: s.config.Sources, Host: s.Host}
	list := []report.Explanation{}
	known := map[engine.PolicyRef]bool{}
	for _, cluster := range append([]string{""}, s.settings.ClusterNames()...) {
		found, err := rules.Find(ctx, head, s.settings.In(cluster))
		if err != nil {
			return nil, err
		}
		policies, _ := engine.CompilePolicies(rules.ForEngine(found.Policies), engine.Options{}) // a check reports invalid policies
		for _, p := range policies.List() {
			if known[p.PolicyRef] {
				continue
			}
			known[p.PolicyRef] = true
			about := policies.About(p.PolicyRef)
			generated := func(rule string) bool { return strings.HasPrefix(rule, "autogen-") }
			list = append(list, report.Explanation{Kind: report.ExplainPolicy, Name: p.FullName(),
				About: about.Title, Means: about.Description, Severity: p.Severity, Category: about.Category, Rules: slices.DeleteFunc(p.Rules, generated),
				Path: p.Path, Line: p.Line})
		}
	}
	return list, nil
}

// commit opens a tree with its roots and the files that may hold rules.
func (s *shower) commit(t *tree.Tree) (diff.Commit, error) {
	set, err := s.open(t, s.settings.RootOptions(s.Repository, s.Branches))
	return diff.Commit{Tree: t, Roots: set, Renderings: s.config.Cache}, err
}

// reached lists the roots whose rendering differs from that of the tree Before. deploy.Between returns too many roots,
// so they are rendered and compared.
func (s *shower) reached(ctx context.Context, head diff.Commit) (names []string, err error) {
	before, err := s.objects.Tree(s.Before)
	if err != nil {
		return nil, err
	}
	base, err := s.commit(before)
	if err != nil {
		return nil, err
	}
	t := diff.Trees{Base: base, Head: head}
	if err := t.Compare(); err != nil {
		return nil, err
	}
	paths, links := t.Touched()
	called := map[roots.Root]string{}
	for _, set := range []*deploy.Set{base.Roots, head.Roots} {
		for _, r := range set.List() {
			called[r.Root] = r.Name
		}
	}
	for _, r := range deploy.Between(base.Roots, head.Roots, paths, links) {
		was, err := deploys(ctx, base.Roots, r)
		if err != nil {
			return nil, err
		}
		is, err := deploys(ctx, head.Roots, r)
		if err != nil {
			return nil, err
		}
		if was != is {
			names = append(names, cmp.Or(called[r], r.Name()))
		}
	}
	return names, nil
}

// deploys returns what a root deploys, as text; empty for a root that the tree does not have.
func deploys(ctx context.Context, set *deploy.Set, r roots.Root) (string, error) {
	if !set.Has(r) {
		return "", nil
	}
	rendering, _, err := set.Render(ctx, r)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, resource := range rendering.Resources {
		data, err := doc.Print(resource.Object) // also of what kustomize cannot print
		if err != nil {
			return "", err
		}
		b.WriteString("---\n")
		b.Write(data)
	}
	return b.String(), nil
}

// values lists the values files in a chart's folder, except for its values.yaml.
func (s *shower) values(dir string) (names []string) {
	roots.Walk(s.tree, path.Join(dir, "*"), func(p string, e tree.Entry) bool {
		name := path.Base(p)
		own := name == "values.yaml" || name == "values.yml"
		if e.Kind == tree.File && strings.HasPrefix(name, "values") && !own && slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)) {
			names = append(names, name)
		}
		return false
	})
	slices.Sort(names)
	return names
}

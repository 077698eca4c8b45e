package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// pairs are what a change does to the deployed objects, with everything that is needed to judge it.
type pairs struct {
	sides    *diff.Sides
	declared *declared.Objects
	touched  []roots.Root
	roots    []*diff.Root // the selected roots that the change affects
	every    []*diff.Root // all roots that the change affects
	list     []*diff.Pair
	asking   []*diff.Pair // objects that request a deployment which Lintel cannot render
	alone    []*diff.Pair // changes of kustomizations that others include, rendered standalone
	bases    []*diff.Root // the roots of alone
	surveyed []*diff.Pair // violations of builtin.CheckRoots

	clusters   func(roots.Root) []string // clusters of a root; nil: the settings have no clusters
	inferred   bool                      // the settings have no clusters, so what deploys a root tells them apart
	lookups    [3]*deploy.Set            // the tip of the base branch, the head and the base, for what policies look up
	context    []string                  // files and folders of the settings' context
	above      *declared.Above           // the context of the organisation's settings
	notChecked []report.NotChecked
	charts     int // how many entries of notChecked are Helm charts
	others     int // number of affected roots that are not selected
	warnings   []report.Problem
	broken     []report.Problem // changed files with errors that no root reports

	secrets *mask.Values // of all objects that were read
}

// pair renders the roots that the change affects, on both sides.
func pair(ctx context.Context, repo *repository) (_ *pairs, err error) {
	t, change := repo.trees, repo.change
	clusters := repo.clusters()
	for _, c := range []diff.Commit{t.Rules, t.Base, t.Head} {
		c.Roots.ForClusters(repo.settings.Rendered(clusters))
	}
	out := &pairs{context: repo.settings.Context, secrets: &mask.Values{},
		sides: &diff.Sides{Trees: t, All: change.All, Base: t.Base.Roots, Head: t.Head.Roots}}
	ofTip, ofHead := repo.remote.Lookups()
	out.lookups = [3]*deploy.Set{t.Rules.Roots.WithSources(ofTip), t.Head.Roots.WithSources(ofHead), t.Base.Roots.WithSources(ofTip)}
	if len(repo.settings.Clusters) > 0 {
		out.clusters = clusters
	}
	out.inferred = repo.settings.Clusters == nil
	out.sides.Placement = repo.settings.Deployed(out.sides.Base, out.sides.Head)
	if out.above, err = repo.above(t.Rules, repo.settings); err != nil {
		return nil, err
	}
	out.declared = out.objects(repo.settings.Context, nil)
	chosen, err := only(t, change.Roots)
	if err != nil {
		return nil, err
	}
	if change.All && chosen != nil {
		out.touched = chosen
	}
	if err := out.render(ctx); err != nil {
		return nil, err
	}
	if err := out.unchecked(ctx); err != nil {
		return nil, err
	}
	asking, not, advice := builtin.Deployments(ctx, out.sides)
	out.asking, out.notChecked = asking, append(out.notChecked, not...)
	out.notChecked = append(out.notChecked, builtin.Unrendered(out.sides, out.roots, out.list, out.notChecked)...)
	out.warnings = append(out.warnings, advice...)
	if out.every = out.roots; chosen != nil {
		out.narrow(chosen)
	}
	out.takeSecrets()
	return out, nil
}

// objects are the objects that policies may look up: those of the named files, and of the roots in; nil: of all roots.
func (p *pairs) objects(named []string, in func(roots.Root) bool) *declared.Objects {
	t := p.sides.Trees
	d := declared.New(p.lookups[1], named)
	d.In, d.Secrets, d.Above = in, p.secrets, p.above
	if p.inferred {
		d.Clusters = p.sides.Clusters
	}
	if !p.sides.All && t.ProposesRules() {
		var fork *declared.Objects
		if t.Base.Tree.ID() != t.Rules.Tree.ID() {
			fork = declared.New(p.lookups[2], nil)
		}
		d.Since(declared.New(p.lookups[0], named), fork, p.reached())
	}
	return d
}

// reached lists the roots that the change affects.
func (p *pairs) reached() []roots.Root {
	if p.touched == nil {
		p.touched = p.sides.Reached()
	}
	return p.touched
}

// reads returns what the rendering of a root read, on either side.
func (p *pairs) reads(root roots.Root) map[string]string {
	for _, r := range p.roots {
		if r.Root == root {
			return r.Reads
		}
	}
	return nil
}

// both renders roots on both sides.
func (p *pairs) both(ctx context.Context, reached []roots.Root) ([]*diff.Root, error) {
	errs := make([]error, len(reached))
	list := make([]*diff.Root, len(reached))
	count := progress.From(ctx).Count("rendering", len(reached))
	deploy.Each(len(reached), func(i int) {
		defer count.Begin(reached[i].Name())()
		list[i], errs[i] = p.sides.Render(ctx, reached[i])
		if r := list[i]; r != nil && r.Known {
			p.declared.Rendered(r.Root, r.Deployed, r.Head...)
		}
	})
	return list, cmp.Or(errs...)
}

func (p *pairs) render(ctx context.Context) (err error) {
	if p.roots, err = p.both(ctx, p.reached()); err != nil {
		return err
	}
	uncovered, err := p.both(ctx, p.sides.Uncovered(p.roots))
	if err != nil {
		return err
	}
	p.roots = append(p.roots, slices.DeleteFunc(uncovered, func(r *diff.Root) bool { return len(r.Pairs) == 0 })...)
	var list, moved []*diff.Pair
	for _, r := range p.roots {
		list, moved = append(list, r.Pairs...), append(moved, r.Moved...)
		p.warnings = append(p.warnings, diff.Problems("", r.Notes...)...)
	}
	stays := p.sides.Head.Has
	gone := slices.DeleteFunc(slices.Concat(list, moved), func(p *diff.Pair) bool { return p.New != nil })
	var alone []*diff.Pair
	if p.list, err = p.sides.Kept(ctx, diff.Join(list, moved, stays, p.tookOver), p.reads); err != nil {
		return err
	}
	p.list = diff.Renewed(slices.DeleteFunc(p.list, p.sides.Stays))
	p.list = slices.DeleteFunc(p.list, p.exists(ctx))
	p.bases, err = p.sides.Standalone(ctx, p.roots)
	for _, r := range p.bases {
		alone = append(alone, r.Pairs...)
	}
	p.alone = diff.Renewed(diff.Join(alone, gone, stays, p.tookOver))
	return err
}

// exists returns a function that reports whether a pair is of a Namespace that its deployer would create, but that is
// there already, stays when the deployer goes, or is created by another pair.
func (p *pairs) exists(ctx context.Context) func(*diff.Pair) bool {
	created := map[string]bool{}
	return func(one *diff.Pair) bool {
		if !one.Resource().Created || one.Operation == admission.Delete || p.declared.Exists(ctx, one, true) {
			return one.Resource().Created
		}
		key := fmt.Sprint(diff.KeyOf(one.New), p.sides.Clusters(one.Root))
		again := created[key]
		created[key] = true
		return again
	}
}

// tookOver is diff.Trees.TookOver, limited to pairs in the same clusters of the settings.
func (p *pairs) tookOver(from, to *diff.Pair) bool {
	return p.sides.Trees.TookOver(from, to) &&
		(p.clusters == nil || slices.Equal(p.clusters(from.Root), p.clusters(to.Root)))
}

// survey runs the built-in checks of whole roots over the selected roots.
func (p *pairs) survey(ctx context.Context, levels settings.Checks) (err error) {
	reached := &builtin.Reached{Sides: p.sides, Roots: p.roots, Clusters: p.clusters}
	p.surveyed, err = builtin.CheckRoots(ctx, reached, levels)
	for _, pair := range p.surveyed {
		pair.Versions(p.secrets.Object)
	}
	return err
}

// tell adds obstacles to rendering, and the numbers of checked roots and resources, to the report.
func (p *pairs) tell(out *report.Report) {
	out.Stats.Unchecked, out.Stats.Others = p.charts, p.others
	for _, pair := range p.list {
		if !isRule(pair) {
			out.Stats.Resources++
		}
	}
	for _, r := range p.roots {
		if len(r.Pairs) == 0 || slices.ContainsFunc(r.Pairs, func(p *diff.Pair) bool { return !isRule(p) }) {
			out.Stats.Roots++
		}
	}
	out.NotChecked = p.notChecked
	out.Warnings = append(out.Warnings, p.warnings...)
	p.tellObstacles(out)
	out.Work = p.sides.Work()
	warn := func(words string, b declared.Blind) {
		w, c := diff.Problems(words, b.Why), b.Cause()
		c.Roots = 1
		w[0].Cause = out.Because(c)
		out.Warnings = append(out.Warnings, w...)
	}
	for _, l := range p.declared.Last() {
		warn("policies look up objects of this root as they were on "+l.Day.Format(time.DateOnly)+", "+
			"since it does not render now: ", l.Blind)
	}
	for _, b := range p.declared.Blind() {
		warn("policies cannot look up the objects of this root, since it does not render: ", b)
	}
}

// isRule reports whether a pair is a policy, a binding or an exception. Rules are checked like all objects, but the
// numbers of the report count workloads only.
func isRule(p *diff.Pair) bool {
	id := admission.IdentityOf(p.Resource().Object)
	return engine.IsRule(id.Group, id.Kind)
}

// tellObstacles reports what prevented the rendering of roots. An error that the change introduces fails the check. An
// error that the base has too, or that is caused by other repositories, is reported as not checked. The rest of the
// root is checked.
func (p *pairs) tellObstacles(out *report.Report) {
	gone := p.sides.Gone(p.every)
	var failing []*diff.Root
	for _, r := range p.roots {
		if r.Unseen != nil && p.sides.Head.Has(r.Root) && len(r.Head) == 0 {
			e := r.Base[len(r.Base)-1]
			out.Warnings = append(out.Warnings, report.Problem{Path: e.Path, Line: e.Line, Quotes: e.Quotes, Message: "" +
				"the base could not be rendered, so everything in " + r.Name() + " counts as new, except what " +
				"stands in files that the change leaves alone: " + e.Message})
		}
		brought := &diff.Root{Root: r.Root}
		failing = append(failing, brought)
		for _, o := range r.Obstacles(gone) {
			if !o.Before && p.sides.Takes(o.Error, p.sides.Base.Has(r.Root)) {
				o.Message += diff.Taken
				brought.Head = append(brought.Head, o.Error)
				continue
			}
			if (!o.Before || p.sides.Trees.Changed(o.Path)) && !o.Unknown { // an edit of a broken file that does not fix it counts as introducing the error
				brought.Head = append(brought.Head, o.Error)
				continue
			}
			n := report.NotChecked{Root: r.Name(), Path: o.Path, Line: o.Line, Reason: o.Message, By: o.By, Before: o.Before,
				Quotes: o.Quotes, Cause: out.Because(diff.CauseOf(o.Error)),
				Touched: len(r.Pairs) > 0 || p.sides.Trees.Changed(o.Path)}
			if o.Before {
				n.Reason += " (also so in the base)"
			}
			out.NotChecked = append(out.NotChecked, n)
		}
	}
	out.Fail(append(diff.Failures(failing), p.broken...)...)
}

// only returns the roots of both sides that the names stand for; nil selects all roots. It fails for a name that stands
// for no root or for several.
func only(trees *diff.Trees, names []report.RootName) ([]roots.Root, error) {
	var list []roots.Root
	for _, name := range names {
		found, err := named(trees, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name.Name, err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// named returns the roots of one name. It tries the meanings of the name in order, and takes the first one that either
// side has.
func named(trees *diff.Trees, name report.RootName) (list []roots.Root, err error) {
	first := errors.New("this is neither a path in the repository nor a name listed by \"lintel roots\"")
	for _, meaning := range append(slices.Clone(name.Paths), path.Clean(name.Name)) {
		for _, set := range []*deploy.Set{trees.Head.Roots, trees.Base.Roots} {
			root, err := set.Find(meaning)
			if ambiguous := (*deploy.AmbiguousNameError)(nil); errors.As(err, &ambiguous) {
				return nil, err
			}
			if err == nil && !slices.Contains(list, root) {
				list = append(list, root)
			}
			first = err
		}
		if len(list) > 0 {
			return list, nil
		}
		if e, err := trees.Head.Tree.Entry(meaning); err == nil && e.Kind == tree.File {
			return nil, errors.New("this is a file: name the root that has it, as \"lintel roots\" lists it")
		}
	}
	return nil, first
}

// narrow removes everything that is not about the given roots.
func (p *pairs) narrow(list []roots.Root) {
	is := func(root roots.Root) bool {
		return slices.ContainsFunc(list, func(one roots.Root) bool { // a folder may be a root of two kinds
			return one.Path == root.Path && one.Object == root.Object
		})
	}
	names := map[string]bool{}
	for _, root := range list {
		names[root.Name()] = true
	}
	affected := len(p.roots)
	p.roots = report.Kept(p.roots, func(r *diff.Root) bool { return is(r.Root) })
	p.others, p.charts = affected-len(p.roots), 0
	for _, pairs := range []*[]*diff.Pair{&p.list, &p.asking, &p.alone} {
		*pairs = slices.DeleteFunc(*pairs, func(pair *diff.Pair) bool { return !is(pair.Root) })
	}
	p.notChecked = slices.DeleteFunc(p.notChecked, func(n report.NotChecked) bool {
		return !slices.ContainsFunc(strings.Split(n.Root, ", "), func(name string) bool { return names[name] })
	})
}

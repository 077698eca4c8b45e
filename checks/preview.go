package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
)

const (
	// maxPreviewed is how many differences, and how many failed rows of tests, a preview lists.
	maxPreviewed = 200
	// maxNamed is how many resources, and how many roots, one difference names.
	maxNamed = 50
	// previewTime is how long a preview may look at resources, unless the Checker says otherwise; where the check has a
	// deadline, it gets at most half of what is left.
	previewTime = 90 * time.Second
	// previewChunk is how many roots are looked at before what they differ in is put together.
	previewChunk = 64
)

// TestRunner runs policy tests (checks/suite has one): files of a file system, by their paths. What is wrong with the
// files is among the problems; the error is that of the context.
type TestRunner func(ctx context.Context, files fs.FS, tests []string, now time.Time) ([]report.TestRow, []report.Problem, error)

// preview reports what the change does to the rules themselves. A change that touches none of them costs a look at the
// names of its files.
func (r *run) preview(ctx context.Context, c *Checker) error {
	p := &report.Preview{Policies: []report.PolicyPreview{}, Findings: []report.PreviewFinding{}}
	e := &ruleEdits{}
	if r.touchesRules() {
		before, err := r.rulesBefore(ctx)
		if err != nil {
			return err
		}
		after, err := r.rulesAfter(ctx)
		if err != nil {
			return err
		}
		e = edits(before, after)
		p.Settings = settingsEdits(before.settings, after.settings)
		r.lostPolicies(after.settings)
		if e.any() {
			if err := r.previewRules(ctx, p, before, after, e, cmp.Or(c.PreviewTime, previewTime)); err != nil {
				return err
			}
		}
	}
	if err := r.previewTests(ctx, p, e, c.Tests); err != nil {
		return err
	}
	if e.any() || len(p.Settings) > 0 || p.Tests != nil || len(p.Warnings) > 0 {
		p.SetNotices(SettingsPath, func(path string) bool { _, err := r.headTree.Entry(path); return err == nil })
		for i := range p.Notices {
			p.Notices[i].Changed = r.changed[p.Notices[i].Path]
		}
		r.report.Preview = p
	}
	return nil
}

// lostPolicies reports policies that the settings name and that are gone once this is merged.
func (r *run) lostPolicies(settings *Settings) {
	lost := missingPolicies(r.headTree, settings.Policies)
	if r.change.Base != "" {
		// What the base branch got after the head left it is not lost.
		never, now := missingPolicies(r.baseTree, settings.Policies), missingPolicies(r.rulesTree, settings.Policies)
		lost = slices.DeleteFunc(lost, func(p report.Problem) bool { return slices.Contains(never, p) && !slices.Contains(now, p) })
	}
	r.problems(lost...)
}

// previewSide asks one version of the rules about the head.
type previewSide struct {
	*run
	renderer *render.Renderer
	cluster  *declared
	reviewer *reviewer
}

// side readies a version of the rules. Everything is as in a check of the whole branch: no resource has an older
// version, and nobody in particular asks for it.
func (r *run) side(set *ruleSet, policies *engine.Policies, decision *exceptions.Decision) (*previewSide, error) {
	g := r.headGraph
	if !reflect.DeepEqual(set.settings.roots(nil), r.settings.roots(nil)) {
		var err error
		if g, err = roots.Open(r.headTree, set.settings.roots(r.change.Repository), &r.warm.graphs); err != nil {
			return nil, err
		}
	}
	change := r.change
	change.All, change.User, change.Rules, change.Base = true, report.User{}, change.Head, ""
	s := &previewSide{run: &run{change: change, warm: r.warm, settings: set.settings, objects: r.objects,
		rulesTree: r.headTree, baseTree: r.objects.Empty(), headTree: r.headTree, rulesGraph: g, baseGraph: g, headGraph: g,
		changed: r.changed, policies: policies, decision: decision, report: &report.Report{}}}
	s.renderer = render.New(g, render.Config{Limits: set.settings.Limits.render(), Namespaced: kinds.HasNamespace, Cache: &r.warm.renders})
	s.cluster = newDeclared(g, s.renderer, set.settings.Context)
	s.bind()
	return s, nil
}

func (s *previewSide) bind() {
	s.reviewer = &reviewer{user: s.settings.user(s.change.User), cluster: s.cluster, counting: s.policies.Bind(s.decision.Counting, s.cluster)}
}

// previewer compares two versions of the rules.
type previewer struct {
	sides    [2]*previewSide
	policies [2]map[string]*engine.PolicyInfo // by name; the first of a name
	rules    map[ruleKey]bool                 // those that both versions have
	states   map[string]report.PolicyState    // of the policies that cannot be compared
	without  [2]*reviewer                     // without the exceptions that change; nil where none do
	edited   map[*engine.Exception]report.Edit
}

func newPreviewer(before, after *previewSide, states map[string]report.PolicyState) *previewer {
	p := &previewer{sides: [2]*previewSide{before, after}, rules: map[ruleKey]bool{}, states: states}
	var rules [2]map[ruleKey]bool
	for i, side := range p.sides {
		p.policies[i], rules[i] = map[string]*engine.PolicyInfo{}, map[ruleKey]bool{}
		for _, info := range side.run.policies.List() {
			name := infoName(info)
			if p.policies[i][name] == nil {
				p.policies[i][name] = &info
			}
			if len(info.Rules) == 0 {
				rules[i][ruleKey{policy: name}] = true // CEL as a whole
			}
			for _, rule := range info.Rules {
				rules[i][ruleKey{name, rule}] = true
			}
		}
	}
	for k := range rules[0] {
		if rules[1][k] {
			p.rules[k] = true
		}
	}
	return p
}

func infoName(p engine.PolicyInfo) string {
	return report.Name(p.Namespace, p.Name)
}

// roots lists what either version checks. Two versions with the same settings share one renderer.
func (p *previewer) roots() (list []roots.Root, in, out []string) {
	before, after := p.sides[0], p.sides[1]
	if before.headGraph == after.headGraph && before.settings.Limits == after.settings.Limits {
		after.renderer = before.renderer
		if slices.Equal(before.settings.Context, after.settings.Context) {
			after.cluster = before.cluster
		} else {
			after.cluster = newDeclared(after.headGraph, after.renderer, after.settings.Context)
		}
		after.bind()
		return before.headGraph.All(), nil, nil
	}
	a, b := before.headGraph.All(), after.headGraph.All()
	list = append(slices.Clone(a), b...)
	slices.SortFunc(list, roots.Compare)
	return slices.Compact(list), rootsBetween(b, a), rootsBetween(a, b)
}

// run looks at all roots and puts what they say differently into a preview, in a fixed order whatever the number of
// processors.
func (p *previewer) run(ctx context.Context, into *report.Preview, chosen []roots.Root, limit time.Duration) (*gathered, error) {
	all := newGathered()
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	into.Stats.Roots = len(chosen)
	for chunk := range slices.Chunk(chosen, previewChunk) {
		list := make([]*rootPreview, len(chunk))
		each(len(chunk), func(i int) { list[i] = p.root(limited, chunk[i]) })
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
		}
		for _, one := range list {
			switch {
			case one == nil:
				into.Stats.Unseen++
				continue
			case one.err != nil:
				return nil, one.err
			case one.unrendered:
				into.Stats.Unrendered++
			}
			into.Stats.Resources += one.resources
			into.Warnings = append(into.Warnings, one.problems...)
			all.add(one)
		}
	}
	return all, nil
}

// root compares what is said about the resources of one root, nil where time was up.
func (p *previewer) root(ctx context.Context, root roots.Root) *rootPreview {
	if ctx.Err() != nil {
		return nil
	}
	out := &rootPreview{tallies: map[string]*policyTally{}, exceptions: map[string]*report.ExceptionPreview{}}
	before, after := p.render(ctx, root)
	if out.err = cmp.Or(before.err, after.err); out.err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return out
	}
	if out.unrendered = len(before.head)+len(after.head) > 0; out.unrendered && len(before.head) == 0 {
		for _, e := range after.head {
			out.problems = append(out.problems, report.Problem{Path: e.Path, Line: e.Line, Column: e.Column, Message: "after the merge, " + root.Path + " cannot be rendered: " + e.Message})
		}
	}
	left := map[key][]*pair{}
	for _, old := range before.pairs {
		left[keyOf(old.new)] = append(left[keyOf(old.new)], old)
	}
	for _, now := range after.pairs {
		k := keyOf(now.new)
		var old *pair
		if len(left[k]) > 0 {
			old, left[k] = left[k][0], left[k][1:]
		}
		p.resource(ctx, out, old, now)
	}
	for _, old := range before.pairs {
		if k := keyOf(old.new); len(left[k]) > 0 && left[k][0] == old {
			left[k] = left[k][1:]
			p.resource(ctx, out, old, nil)
		}
	}
	if ctx.Err() != nil {
		return nil // what is left gave errors
	}
	return out
}

// render renders a root for both versions, once where they share the renderer.
func (p *previewer) render(ctx context.Context, root roots.Root) (before, after rootChange) {
	a, b := p.sides[0], p.sides[1]
	before = a.run.render(ctx, root, a.renderer, a.renderer, a.cluster)
	if a.renderer != b.renderer {
		return before, b.run.render(ctx, root, b.renderer, b.renderer, b.cluster)
	}
	if a.cluster != b.cluster && before.err == nil {
		var resources []*render.Resource
		for _, one := range before.pairs {
			resources = append(resources, one.new)
		}
		b.cluster.rendered(root, resources)
	}
	return before, before
}

// resource compares what is said about one resource; old or now is nil where a version does not check it.
func (p *previewer) resource(ctx context.Context, out *rootPreview, old, now *pair) {
	out.resources++
	var reviews [2]*reviewed
	for i, one := range []*pair{old, now} {
		if one != nil {
			v := p.sides[i].reviewer.review(ctx, one)
			reviews[i] = &v
		}
	}
	p.compare(out, reviews[0], reviews[1])
	p.exceptions(ctx, out, reviews)
}

package builtin

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
)

// RootCheck checks a root as a whole, while Check checks single resources. It is safe for concurrent use. Its findings
// are warnings, and are treated like those of policies.
type RootCheck struct {
	Info // its name is a field of settings.Checks
	// Violations returns the violations on one side of a root that the change affects. It fails for errors of the
	// repository or the context.
	Violations func(ctx context.Context, a *Scope) ([]RootViolation, error)
}

// Scope is a root on one side of a change. It renders completely, so it has all of its objects.
type Scope struct {
	Root      roots.Root
	Set       *deploy.Set
	Resources []*render.Resource
	Reached   *Reached
	Head      bool // whether it is the head's side

	rendering *render.Rendering
	once      sync.Once
	idle      []*render.Resource
}

// Inactive is render.Renderer.Inactive.
func (a *Scope) Inactive(ctx context.Context) []*render.Resource {
	a.once.Do(func() { a.idle = a.Set.Renderer.Inactive(ctx, a.rendering) })
	return a.idle
}

// Reached are the roots that a change affects, for checks that compare several roots.
type Reached struct {
	Sides *diff.Sides
	Roots []*diff.Root
	// Clusters lists the clusters of a root by name; nil: the settings have no clusters.
	Clusters func(roots.Root) []string

	before, now everywhere
	known       sync.Map // see clustersOf
}

// RootViolation is one violation that a root check finds.
type RootViolation struct {
	Resource *render.Resource // the resource with the violation, or one that stands for another thing
	Violation
}

// rootChecks returns the checks of whole roots.
func rootChecks() []RootCheck {
	return []RootCheck{
		{warning("selector", "medium"), badSelectors},
		{warning("missing-key", "high"), missingKeys},
		{warning("deployed-twice", "medium"), deployedTwice},
		{warning(string(render.UnusedValue), "medium"), unusedValues},
		idleEntry(render.PatchTarget), idleEntry(render.ImageEntry), idleEntry(render.PostRenderer),
	}
}

// idleEntry finds entries of kustomizations and of post renderers that match nothing: patches, replacements, images. It
// ignores strategic merge patches without a target, replicas, and generators that merge, since kustomize itself rejects
// those.
func idleEntry(check render.Check) RootCheck {
	return RootCheck{warning(string(check), "medium"), func(ctx context.Context, a *Scope) (list []RootViolation, _ error) {
		for _, r := range a.Inactive(ctx) {
			list = append(list, rootIssues(r, check)...)
		}
		return list, nil
	}}
}

// unusedValues finds values of releases that no template of the chart reads: see render.Renderer.UnusedValues.
func unusedValues(ctx context.Context, a *Scope) ([]RootViolation, error) {
	others := func(file string) bool { return a.Set.ValuesShared(a.Root, file) }
	r := a.Set.Renderer.UnusedValues(ctx, a.Set.Target(a.Root), others)
	if r == nil {
		return nil, ctx.Err()
	}
	return rootIssues(r, render.UnusedValue), nil
}

// rootIssues is issuesOf for a root check.
func rootIssues(r *render.Resource, check render.Check) []RootViolation {
	return report.Mapped(issuesOf(r, check), func(v Violation) RootViolation { return RootViolation{r, v} })
}

// switchedRootChecks returns root checks as checks that can be turned off: their results are the issues of the pairs
// that CheckRoots returns.
func switchedRootChecks() []switchable {
	return report.Mapped(rootChecks(), func(s RootCheck) switchable {
		return switchable{s.Name, func(Facts) Check { return issueCheck(render.Check(s.Name), s.Info) }}
	})
}

// warning describes a check whose findings do not block by default.
func warning(name, severity string) Info {
	return Info{Name: name, Severity: severity, Outcome: engine.Fail}
}

// CheckRoots returns the violations of root checks in affected roots, as pairs of their resource with the violation as
// its issue. Violations that the base has too, and whose resource is unchanged, are left out.
func CheckRoots(ctx context.Context, reached *Reached, levels settings.Checks) ([]*diff.Pair, error) {
	asked := report.Kept(rootChecks(), func(s RootCheck) bool { return levels.Of(s.Name) != settings.LevelOff })
	lists, errs := make([][]*diff.Pair, len(reached.Roots)), make([]error, len(reached.Roots))
	count := progress.From(ctx).Count("checking what the roots say", len(reached.Roots))
	deploy.Each(len(reached.Roots), func(i int) {
		defer count.Begin(reached.Roots[i].Name())()
		lists[i], errs[i] = reached.look(ctx, asked, reached.Roots[i])
	})
	return slices.Concat(lists...), cmp.Or(errs...)
}

// look is CheckRoots for one root.
func (reached *Reached) look(ctx context.Context, asked []RootCheck, r *diff.Root) ([]*diff.Pair, error) {
	t := reached.Sides.Trees
	inBase := !reached.Sides.All && t.Base.Roots.Has(r.Root)
	if !r.Known || len(r.Head) > 0 || !t.Head.Roots.Has(r.Root) || inBase && same(r.Before(), r.Deployed) {
		return nil, nil
	}
	now := &Scope{Root: r.Root, Set: t.Head.Roots, Resources: r.Deployed, Reached: reached,
		Head: true}
	before := &Scope{Root: r.Root, Set: t.Base.Roots, Resources: r.Before(), Reached: reached}
	before.rendering, now.rendering = r.Renderings()
	var pairs []*diff.Pair
	for _, s := range asked {
		found, err := s.Violations(ctx, now)
		if err != nil {
			return nil, err
		}
		var known, gone []RootViolation
		switch {
		case len(found) == 0 || reached.Sides.All:
		case !inBase:
			gone, err = reached.gone(ctx, s)
		case len(r.Base) == 0:
			known, err = s.Violations(ctx, before)
		}
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			if inBase && len(r.Base) > 0 && !t.Changed(v.Resource.Origin(v.Pointer).Path) {
				continue // the base does not render, and the change did not write this
			}
			p := paired(r.Root, s.Name, v, known, before.Resources)
			if p == nil {
				continue
			}
			if i := slices.IndexFunc(gone, v.same); i >= 0 {
				p.Before = issued(s.Name, gone[i])
			}
			pairs = append(pairs, p)
		}
	}
	return pairs, nil
}

// gone lists the violations in former roots, since a root that moves takes them along.
func (reached *Reached) gone(ctx context.Context, s RootCheck) (list []RootViolation, _ error) {
	t := reached.Sides.Trees
	for _, r := range reached.Roots {
		was, _ := r.Renderings()
		if !t.Base.Roots.Has(r.Root) || t.Head.Roots.Has(r.Root) || len(r.Base) > 0 || was == nil {
			continue
		}
		found, err := s.Violations(ctx, &Scope{Root: r.Root, Set: t.Base.Roots,
			Resources: r.Before(), Reached: reached, rendering: was})
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// same reports whether another violation has the same message and resource name. A kustomization is named after its
// folder, which may differ.
func (s RootViolation) same(other RootViolation) bool {
	a, b := diff.KeyOf(s.Resource), diff.KeyOf(other.Resource)
	if a.Group == "kustomize.config.k8s.io" {
		a.Name, b.Name = "", ""
	}
	return a == b && s.Violation == other.Violation
}

// issued returns the resource of a violation with the violation as its issue.
func issued(check string, s RootViolation) *render.Resource {
	return render.NewResource(s.Resource.Object, s.Resource.Origin,
		render.Issue{Check: render.Check(check), Pointer: s.Pointer, Message: s.Message})
}

// same reports whether both sides have the same rendering, because no file that the root reads changed.
func same(before, now []*render.Resource) bool {
	return len(before) == len(now) && len(now) > 0 && before[0] == now[0]
}

// paired returns the pair of a violation; nil if the base has it too and the resource is unchanged. before are the
// resources of the base.
func paired(root roots.Root, check string, now RootViolation, known []RootViolation, before []*render.Resource) *diff.Pair {
	key := diff.KeyOf(now.Resource)
	p := &diff.Pair{Root: root, Operation: admission.Create, New: issued(check, now)}
	for _, old := range known {
		if diff.KeyOf(old.Resource) != key {
			continue
		}
		field, ok := diff.NewVersions(old.Resource.Object, now.Resource.Object).Earlier(now.Pointer)
		if !ok || field != old.Pointer {
			continue
		}
		if reflect.DeepEqual(old.Resource.Object, now.Resource.Object) {
			return nil
		}
		p.Operation, p.Old = admission.Update, issued(check, old)
		return p
	}
	if i := slices.IndexFunc(before, func(r *render.Resource) bool { return diff.KeyOf(r) == key }); i >= 0 {
		p.Operation, p.Old = admission.Update, render.NewResource(before[i].Object, before[i].Origin)
	}
	return p
}

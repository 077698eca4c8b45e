package builtin

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
)

// RootCheck looks at a root as a whole, where Check looks at single resources. It is safe for concurrent use. What it finds
// is a warning, and goes the way of a policy's findings.
type RootCheck struct {
	Info // its name is a field of settings.Checks
	// Violations lists what it finds in one side of a root that the change reaches. The error is about the repository or the
	// context.
	Violations func(ctx context.Context, a *Scope) ([]RootViolation, error)
}

// Scope is a root as it is on one side of a change. Nothing stands in the way of rendering it: all that it deploys is
// there.
type Scope struct {
	Root      roots.Root
	Set       *deploy.Set
	Resources []*render.Resource
	Reached   *Reached
	Head      bool // it is that of the head

	rendering *render.Rendering
	once      sync.Once
	idle      []*render.Resource
}

// Inactive is render.Renderer.Inactive.
func (a *Scope) Inactive(ctx context.Context) []*render.Resource {
	a.once.Do(func() { a.idle = a.Set.Renderer.Inactive(ctx, a.rendering) })
	return a.idle
}

// Reached is what a change reaches, for those who look beyond one root.
type Reached struct {
	Sides *diff.Sides
	Roots []*diff.Root
	// Clusters lists those of a root by name; nil: the settings know none.
	Clusters func(roots.Root) []string

	before, now everywhere
	known       sync.Map // see clustersOf
}

// RootViolation is one thing that a root check finds.
type RootViolation struct {
	Resource *render.Resource // that it is about, or that stands for what is no resource
	Violation
}

// rootChecks are those that look at whole roots.
func rootChecks() []RootCheck {
	return []RootCheck{
		{warning("selector", "medium"), badSelectors},
		{warning("missing-key", "high"), missingKeys},
		{warning("deployed-twice", "medium"), deployedTwice},
		{warning(string(render.UnusedValue), "medium"), unusedValues},
		idleEntry(render.PatchTarget), idleEntry(render.ImageEntry), idleEntry(render.PostRenderer),
	}
}

// idleEntry finds entries of kustomizations and of post renderers that match nothing: patches, replacements, images.
// Strategic merge patches without a target, replicas and generators that merge are not among them: kustomize itself
// refuses those.
func idleEntry(check render.Check) RootCheck {
	return RootCheck{warning(string(check), "medium"), func(ctx context.Context, a *Scope) (list []RootViolation, _ error) {
		for _, r := range a.Inactive(ctx) {
			list = append(list, issuesOf(r, check)...)
		}
		return list, nil
	}}
}

// unusedValues finds values of releases that no template of their chart reads: see render.Renderer.UnusedValues.
func unusedValues(ctx context.Context, a *Scope) ([]RootViolation, error) {
	others := func(file string) bool { return a.Set.ValuesShared(a.Root, file) }
	r := a.Set.Renderer.UnusedValues(ctx, a.Set.Target(a.Root), others)
	if r == nil {
		return nil, ctx.Err()
	}
	return issuesOf(r, render.UnusedValue), nil
}

// issuesOf are the issues of one name that a resource has.
func issuesOf(r *render.Resource, check render.Check) (list []RootViolation) {
	for _, issue := range r.Issues {
		if issue.Check == check {
			list = append(list, RootViolation{r, Violation{issue.Pointer, issue.Message}})
		}
	}
	return list
}

// switchedRootChecks are these as checks that can be switched: their results are the issues of the pairs that CheckRoots
// returns.
func switchedRootChecks() (list []switchable) {
	for _, s := range rootChecks() {
		list = append(list, switchable{s.Name, func(Facts) Check { return issueCheck(render.Check(s.Name), s.Info) }})
	}
	return list
}

// warning is what a check that is called by a name finds: nothing that blocks by itself.
func warning(name, severity string) Info {
	return Info{Name: name, Severity: severity, Outcome: engine.Fail}
}

// CheckRoots lists what root checks find in what a change reaches: pairs of what they are about, with issues of their
// names. What the base has in the same way, about something that does not change, is left out.
func CheckRoots(ctx context.Context, reached *Reached, levels settings.Checks) ([]*diff.Pair, error) {
	var asked []RootCheck
	for _, s := range rootChecks() {
		if levels.Of(s.Name) != settings.LevelOff {
			asked = append(asked, s)
		}
	}
	lists, errs := make([][]*diff.Pair, len(reached.Roots)), make([]error, len(reached.Roots))
	count := progress.From(ctx).Count("checking what the roots say", len(reached.Roots))
	deploy.Each(len(reached.Roots), func(i int) {
		defer count.Begin(reached.Roots[i].Name())()
		lists[i], errs[i] = reached.look(ctx, asked, reached.Roots[i])
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(lists...), nil
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
				continue // the base could not be looked at, and this was written before
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

// gone lists what a root check finds in the roots of the base that the head has no more: one that moved takes it along.
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

// same reports whether another finding says the same of what has the same name; a kustomization is called after its
// folder, which may be another one.
func (s RootViolation) same(other RootViolation) bool {
	a, b := diff.KeyOf(s.Resource), diff.KeyOf(other.Resource)
	if a.Group == "kustomize.config.k8s.io" {
		a.Name, b.Name = "", ""
	}
	return a == b && s.Violation == other.Violation
}

// issued is what a finding is about, with the finding as its issue.
func issued(check string, s RootViolation) *render.Resource {
	return render.NewResource(s.Resource.Object, s.Resource.Origin,
		render.Issue{Check: render.Check(check), Pointer: s.Pointer, Message: s.Message})
}

// same reports whether a root deploys the same rendering on both sides: nothing that it reads changed.
func same(before, now []*render.Resource) bool {
	return len(before) == len(now) && len(now) > 0 && before[0] == now[0]
}

// paired is the pair that a finding is about, nil where the base has it, too, and what it is about is the same. before
// are the resources of the base.
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

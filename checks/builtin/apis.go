package builtin

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/roots"
)

// apis are the checks for what the API server of a cluster rejects or warns about.
func apis() []switchable {
	with := func(info Info, look lookFunc) switchable {
		return switchable{info.Name, func(f Facts) Check {
			check := Check{Info: info}
			check.Violations = func(ctx context.Context, s Deployed) []Violation {
				if info.Name == schemaName {
					return f.apis.violations(ctx, look, s)
				}
				return f.apis.asOf(ctx).violations(ctx, look, s)
			}
			if info.Name == Refused {
				check.Fix, check.Removed = f.apis.fixRefused, f.apis.undefined
			}
			return check
		}}
	}
	return []switchable{
		with(Info{Refused, "high", engine.Fail, false}, refused),
		with(Info{"recreated", "medium", engine.Fail, false}, recreated),
		with(Info{"api-server-warnings", "low", engine.Fail, false}, warned),
		with(Info{"pod-security", "high", engine.Fail, false}, insecure),
		with(Info{"namespace-limits", "high", engine.Fail, false}, overLimits),
		with(Info{"pod-policies", "high", engine.Fail, false}, podsDenied),
		with(Info{schemaName, "medium", engine.Fail, false}, schemaOf),
		with(Info{"removed-apis", "high", engine.Fail, false}, func(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
			return f.Removed(ctx, s.Object)
		}),
		with(Info{"deprecated-apis", "low", engine.Fail, false}, func(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
			return f.Deprecated(ctx, s.Object)
		}),
	}
}

const schemaName = "schema"

type lookFunc func(context.Context, *apiFacts, Deployed) []schema.Violation

// apiFacts is what these checks know about a cluster.
type apiFacts struct {
	*schema.Schemas
	earlier  *apiFacts // with the definitions before the change
	cluster  admission.Cluster
	refuses  bool     // whether the check for objects that the API server rejects is on
	unusable sync.Map // *render.Resource -> why it was not checked completely
	listed   env.Memo[listKey, listed]
	ruled    env.Memo[roots.Root, []ruled]          // the projects of what deploys a root
	edges    env.Memo[rootID, []admission.Identity] // what objects of Flux depend on
}

// asOf returns the facts before the change where the look-ups of ctx are answered like that.
func (f *apiFacts) asOf(ctx context.Context) *apiFacts {
	if declared.IsBefore(ctx) {
		return f.earlier
	}
	return f
}

func (f Facts) newAPIs() *apiFacts {
	refuses := f.Levels.Of(Refused) != settings.LevelOff
	earlier := &apiFacts{Schemas: schema.Compile(f.Kubernetes, f.before), cluster: f.Cluster, refuses: refuses}
	earlier.earlier = earlier
	return &apiFacts{Schemas: schema.Compile(f.Kubernetes, f.all), earlier: earlier, cluster: f.Cluster, refuses: refuses}
}

// seeing is a cluster that also knows objects which only a rendering has, and no file of the repository.
type seeing interface {
	Seen(group, kind string) []admission.Object
}

// all returns the declared objects of a kind, see schema.Declared.
func (f Facts) all(ctx context.Context, group, kind, defined string) []map[string]any {
	if f.Cluster == nil {
		return nil
	}
	ctx, _ = declared.For(declared.Unrecorded(ctx), roots.Root{}) // also where ctx asks for what was before
	list := f.Cluster.List(kinds.AskFor(ctx, defined), group, kind, "")
	if s, ok := f.Cluster.(seeing); ok {
		list = slices.Concat(list, s.Seen(group, kind))
	}
	return list
}

// before is like all for what was declared before the change, except what only a rendering has.
func (f Facts) before(ctx context.Context, group, kind, defined string) (list []map[string]any) {
	if f.Cluster != nil {
		ctx, lookups := declared.For(declared.Unrecorded(ctx), roots.Root{})
		list = f.Cluster.List(kinds.AskFor(lookups.Before(ctx), defined), group, kind, "")
	}
	return list
}

// violations returns the violations of one of these checks.
func (f *apiFacts) violations(ctx context.Context, look lookFunc, s Deployed) (list []Violation) {
	if slices.ContainsFunc(s.Issues, func(i render.Issue) bool { return i.Check == deploys }) {
		return nil // only the name of the object is known
	}
	for _, v := range look(ctx, f, s) {
		// Violations of unknown values, and of fields for which rendering found an issue, are left out.
		if !slices.ContainsFunc(s.Issues, func(i render.Issue) bool {
			return i.Value && Related(i.Pointer, v.Pointer) || i.Pointer == v.Pointer
		}) {
			list = append(list, Violation{v.Pointer, v.Message})
		}
	}
	return list
}

// Received returns a pair with the objects that admission policies get from the API server of the cluster that the checks know:
// custom resources have the defaults of their definitions, and others what admission plugins add, since those of Kubernetes
// have their defaults already. An object that is updated keeps what plugins added when it was created, before the change.
func Received(ctx context.Context, checks []Check, p *diff.Pair) *diff.Pair {
	if len(checks) == 0 || checks[0].apis == nil {
		return p
	}
	out, changed := *p, false
	for _, r := range []**render.Resource{&out.Old, &out.New, &out.Before} {
		if *r == nil {
			continue
		}
		object := checks[0].apis.Schemas.Received(ctx, (*r).Object)
		object = checks[0].apis.plugins(ctx, object, p.Root, *r == p.New && p.Operation == admission.Create).Add(object)
		if !reflect.DeepEqual(object, (*r).Object) {
			*r, changed = (*r).Admitted(object), true
		}
	}
	if !changed {
		return p
	}
	return &out
}

// AnsweredBy returns what gives custom resources the defaults of their definitions, for declared.Objects.Answered.
func AnsweredBy(checks []Check) func(context.Context, admission.Object) admission.Object {
	if len(checks) == 0 || checks[0].apis == nil {
		return nil
	}
	return func(ctx context.Context, o admission.Object) admission.Object {
		return checks[0].apis.asOf(ctx).Schemas.Answered(ctx, o)
	}
}

// plugins returns the admission plugins for an object of a root, on a cluster as of the change or as before it.
func (f *apiFacts) plugins(ctx context.Context, o admission.Object, root roots.Root, now bool) apiserver.Plugins {
	if f.cluster == nil {
		return nil
	}
	if !now {
		_, lookups := declared.For(ctx, root)
		ctx = lookups.Before(ctx)
	}
	ctx = kinds.AskFor(declared.Cautious(ctx, root), "") // what is at hand: no source is fetched for a default
	return apiserver.PluginsFor(o, func(group, kind string) []admission.Object {
		namespace := ""
		if group == "" { // all others are of the whole cluster
			if namespace = admission.IdentityOf(o).Namespace; namespace == "" {
				return nil // it is not known
			}
		}
		return f.cluster.List(ctx, group, kind, namespace)
	})
}

// Unseen names the kinds of new and updated objects without a known schema, each once, as "Certificate
// (cert-manager.io/v1)". Policies and exceptions are left out, since compiling them checks their fields. Objects that a
// definition or Kubernetes' own validation cannot check are in not, once for each kind and reason.
func Unseen(ctx context.Context, checks []Check, pairs []*diff.Pair) (undeclared []string, not []report.NotChecked) {
	facts, fields := checks[0].apis, slices.ContainsFunc(checks, func(c Check) bool { return c.Name == schemaName })
	type cause struct{ kind, reason string }
	known, told := map[string]bool{}, map[cause]bool{}
	for _, p := range pairs {
		if p.New == nil {
			continue
		}
		id := admission.IdentityOf(p.New.Object)
		name := schema.Clip(id.Kind) + " (" + schema.Clip(id.APIVersion()) + ")"
		if reason, ok := facts.unusable.Load(p.New); ok {
			if c := (cause{name, reason.(string)}); !told[c] {
				told[c] = true
				at := p.New.Origin("/kind")
				not = append(not, report.NotChecked{Kind: true, Root: "schema of " + name, Path: at.Path, Line: at.StartLine,
					Reason: c.reason})
			}
		}
		if known[name] {
			continue
		}
		known[name] = true
		if fields && id.Kind != "" && !engine.IsRule(id.Group, id.Kind) && facts.Schemas.Undeclared(ctx, p.New.Object) {
			undeclared = append(undeclared, name)
		}
	}
	slices.Sort(undeclared)
	return undeclared, not
}

// Related reports whether one of two pointers is equal to or below the other.
func Related(a, b string) bool {
	_, below := jsonpointer.Below(a, b)
	_, above := jsonpointer.Below(b, a)
	return below || above
}

func schemaOf(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	var old map[string]any
	if s.Old != nil {
		old = s.Old.Object
	}
	answer := f.Schemas.Validate(ctx, s.Object, old)
	if answer.State == schema.Unusable {
		f.unusable.Store(cmp.Or(s.rendered, s.Resource), "its definition cannot be used: "+answer.Reason)
	}
	written := s.applied(s.Resource)
	group := admission.IdentityOf(s.Object).Group
	ofKubernetes := group == "" || kinds.OfKubernetes(group)
	found := slices.DeleteFunc(f.tightened(ctx, s, answer.Violations), func(v schema.Violation) bool {
		_, has := jsonpointer.Lookup(written, v.Pointer)
		return ofKubernetes && !v.Missing && !has // a field of a later version of Kubernetes, whose code gave the object its defaults
	})
	if s.Fragment() {
		found = slices.DeleteFunc(found, missing)
	}
	if s.Root.Kind == roots.Folder { // in a kustomization this is an error, and a chart renders it once
		for _, p := range s.DuplicateKeys() {
			found = append(found, schema.Violation{Pointer: p,
				Message: "is set twice in a map: the last one counts, and kustomize and Flux refuse the file"})
		}
	}
	if declared.IsBefore(ctx) { // all else that the definition now refuses is left alone where an update does not touch it
		then := f.earlier.Validate(ctx, s.Object, nil).Violations
		found = slices.DeleteFunc(found, func(v schema.Violation) bool {
			return v.Foreign && !slices.ContainsFunc(then, func(w schema.Violation) bool { return w.Pointer == v.Pointer })
		})
	}
	found = f.withoutRefused(ctx, found, s)
	gone := len(f.Removed(ctx, s.Object)) > 0
	return slices.DeleteFunc(found, func(v schema.Violation) bool { // the checks of removed and deprecated kinds report these better
		return gone && v.Pointer == "/apiVersion" || v.Pointer == "/kind" && schema.InLifecycle(s.Object)
	})
}

// tightened moves a missing field, which the definition of the base did not require, to the map that lacks it and that the
// change edits: the API server accepted the old object, and refuses the new one.
func (f *apiFacts) tightened(ctx context.Context, s Deployed, found []schema.Violation) []schema.Violation {
	if old := s.replaced(); old != nil && slices.ContainsFunc(found, missing) {
		before := f.earlier.Validate(ctx, old, nil)
		for i, v := range found {
			above := v.Pointer[:max(strings.LastIndexByte(v.Pointer, '/'), 0)]
			was, there := jsonpointer.Lookup(old, above)
			required := slices.ContainsFunc(before.Violations, func(w schema.Violation) bool { return w.Pointer == v.Pointer })
			if v.Missing && there && before.State == schema.Known && !required && !reflect.DeepEqual(was, jsonpointer.At(s.Object, above)) {
				found[i].Pointer = above
				found[i].Message = fmt.Sprintf("%s %s since this change", strings.TrimPrefix(v.Pointer, above+"/"), v.Message)
			}
		}
	}
	return found
}

func missing(v schema.Violation) bool { return v.Missing }

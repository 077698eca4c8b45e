package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render/roots"
)

// reference is an object without which Flux does not reconcile another one.
type reference struct {
	at string // the field that names it
	to admission.Identity
}

const waits = "Flux does not reconcile %s until there is one"

// references lists what an object of Flux depends on
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#dependencies). Names that others fill in are left out.
func references(o admission.Object) (list []reference) {
	id := admission.IdentityOf(o)
	if id.Kind != "Kustomization" && id.Kind != "HelmRelease" || !strings.HasSuffix(id.Group, ".toolkit.fluxcd.io") ||
		id.Namespace == "" || jsonpointer.At(o, "/spec/suspend") == true || schema.FilledIn(id.Namespace) {
		return nil
	}
	for i, on := range listAt(o, "/spec/dependsOn") {
		to := admission.Identity{Group: id.Group, Kind: id.Kind, Namespace: cmp.Or(textAt(on, "/namespace"), id.Namespace), Name: textAt(on, "/name")}
		if to.Name != "" && !schema.FilledIn(to.Name) && !schema.FilledIn(to.Namespace) {
			list = append(list, reference{"/spec/dependsOn/" + strconv.Itoa(i) + "/name", to})
		}
	}
	return list
}

// undeclared finds references of deployed objects of Flux to what nothing declares. Another repository may declare it.
func undeclared(ctx context.Context, f *apiFacts, s Deployed) (list []schema.Violation) {
	by, known := f.cluster.(interface{ IsDeployed(roots.Root) bool })
	if !known || s.Fragment() {
		return nil
	}
	for _, to := range references(s.Object) {
		if by.IsDeployed(s.Root) && f.lacks(ctx, s.Root, to.to) {
			list = append(list, schema.Violation{Pointer: to.at,
				Message: fmt.Sprintf("nothing declares the %s %s: "+waits, to.to.Kind, to.to.Name, "this "+to.to.Kind)})
		}
	}
	return list
}

// listed are the names of the objects of a kind that a root may refer to in a namespace.
type listed struct {
	names   map[string]bool
	unknown bool // others may be there
}

// listKey is the key of listed.
type listKey struct {
	root                   roots.Root
	group, kind, namespace string
}

// lacks reports whether certainly nothing of the repository declares an object in the cluster of a root.
func (f *apiFacts) lacks(ctx context.Context, root roots.Root, id admission.Identity) bool {
	f = f.asOf(ctx)
	one := f.listed.Get(listKey{root, id.Group, id.Kind, id.Namespace}, func() listed {
		ctx, lookups := declared.For(declared.Unrecorded(ctx), root)
		out := listed{names: map[string]bool{}}
		list := f.cluster.List(declared.Quiet(kinds.AskFor(ctx, "")), id.Group, id.Kind, id.Namespace)
		if by, ok := f.cluster.(seeing); ok {
			list = slices.Concat(list, declared.In(by.Seen(id.Group, id.Kind), id.Namespace))
		}
		for _, o := range list {
			out.names[admission.IdentityOf(o).Name] = true
		}
		out.unknown = lookups.Unknown()
		return out
	})
	return !one.names[id.Name] && !one.unknown
}

// rootID is an object as an object of a root may refer to it.
type rootID struct {
	root roots.Root
	id   admission.Identity
}

// circular finds that an object of Flux depends on itself, so that Flux reconciles neither it nor the others.
func circular(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	if f.cluster == nil || s.Fragment() {
		return nil
	}
	f, ctx = f.asOf(ctx), atHand(ctx, s.Root)
	own, seen := plain(admission.IdentityOf(s.Object)), map[admission.Identity]bool{}
	for _, first := range references(s.Object) {
		for queue := []admission.Identity{first.to}; len(queue) > 0; queue = queue[1:] {
			id := queue[0]
			if id == own {
				return []schema.Violation{{Pointer: first.at, Message: fmt.Sprintf("the %s depends on itself by way of %s: Flux reconciles none of them",
					own.Kind, first.to.Name)}}
			}
			if seen[id] {
				continue
			}
			seen[id] = true
			queue = append(queue, f.edges.Get(rootID{s.Root, id}, func() (list []admission.Identity) {
				on, _ := f.cluster.Get(ctx, id.Group, id.Kind, id.Namespace, id.Name)
				for _, next := range references(on) {
					list = append(list, next.to)
				}
				return list
			})...)
		}
	}
	return nil
}

// plain is an identity without the version.
func plain(id admission.Identity) admission.Identity {
	id.Version = ""
	return id
}

// goes finds that an object goes which others need. certain selects what is certain: where a source that is not rendered may declare
// the object from now on, it is not.
func (f *apiFacts) goes(ctx context.Context, s Deployed, certain bool) []Violation {
	if f == nil || f.cluster == nil {
		return nil
	}
	list, id := append(f.projectGoes(ctx, s), f.referenceGoes(ctx, s)...), admission.IdentityOf(s.Old.Object)
	if len(list) == 0 {
		return nil
	}
	look, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	_, declares := f.cluster.Get(declared.Quiet(look), id.Group, id.Kind, id.Namespace, id.Name)
	if declares || lookups.Unknown() == certain {
		return nil
	}
	if !certain {
		list[0].Message += ", unless a source that was not rendered declares it"
	}
	return list
}

// referenceGoes finds that an object goes while objects of Flux depend on it.
func (f *apiFacts) referenceGoes(ctx context.Context, s Deployed) []Violation {
	id := plain(admission.IdentityOf(s.Old.Object))
	if id.Kind != "Kustomization" && id.Kind != "HelmRelease" || !strings.HasSuffix(id.Group, ".toolkit.fluxcd.io") ||
		!f.lacks(ctx, s.Root, id) {
		return nil
	}
	for _, o := range f.cluster.List(atHand(ctx, s.Root), id.Group, id.Kind, "") {
		if slices.ContainsFunc(references(o), func(r reference) bool { return r.to == id }) {
			return []Violation{{"/metadata/name", fmt.Sprintf("%s %s still needs this %s: "+waits, id.Kind, admission.IdentityOf(o).Name, id.Kind, "it")}}
		}
	}
	return nil
}

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
	at      string // the field that names it
	to      admission.Identity
	without string // what happens where the cluster does not have it
}

const waits = "Flux does not reconcile %s until there is one"

// references lists what an object of Flux depends on, and the ServiceAccount that Flux acts as
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#dependencies, #role-based-access-control). Names that others fill
// in, and objects of other clusters, are left out.
func references(o admission.Object) (list []reference) {
	id := admission.IdentityOf(o)
	if id.Kind != "Kustomization" && id.Kind != "HelmRelease" || !strings.HasSuffix(id.Group, ".toolkit.fluxcd.io") ||
		id.Namespace == "" || jsonpointer.At(o, "/spec/suspend") == true || schema.FilledIn(id.Namespace) {
		return nil
	}
	add := func(at string, to admission.Identity) {
		if to.Name != "" && !schema.FilledIn(to.Name) && !schema.FilledIn(to.Namespace) {
			list = append(list, reference{at, to, fmt.Sprintf(waits, "this "+id.Kind)})
		}
	}
	for i, on := range listAt(o, "/spec/dependsOn") {
		add("/spec/dependsOn/"+strconv.Itoa(i)+"/name", admission.Identity{Group: id.Group, Kind: id.Kind,
			Namespace: cmp.Or(textAt(on, "/namespace"), id.Namespace), Name: textAt(on, "/name")})
	}
	if name := textAt(o, "/spec/serviceAccountName"); name != "default" && jsonpointer.At(o, "/spec/kubeConfig") == nil {
		add("/spec/serviceAccountName", admission.Identity{Kind: "ServiceAccount", Namespace: id.Namespace, Name: name})
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
				Message: fmt.Sprintf("nothing declares the %s %s: %s", to.to.Kind, to.to.Name, to.without)})
		}
	}
	return list
}

// lacks reports whether certainly nothing of the repository declares an object in the cluster of a root.
func (f *apiFacts) lacks(ctx context.Context, root roots.Root, id admission.Identity) bool {
	ctx, lookups := declared.For(declared.Unrecorded(ctx), root)
	_, there := declared.Find(f.cluster.List(declared.Quiet(kinds.AskFor(ctx, "")), id.Group, id.Kind, id.Namespace), id.Namespace, id.Name)
	if by, ok := f.cluster.(seeing); ok && !there {
		_, there = declared.Find(by.Seen(id.Group, id.Kind), id.Namespace, id.Name)
	}
	return !there && !lookups.Unknown()
}

// circular finds objects of Flux that depend on each other, so that Flux reconciles none of them.
func circular(ctx context.Context, f *apiFacts, s Deployed) (list []schema.Violation) {
	if f.cluster == nil || s.Fragment() {
		return nil
	}
	ctx = atHand(ctx, s.Root)
	own := plain(admission.IdentityOf(s.Object))
	for _, first := range references(s.Object) {
		seen := map[admission.Identity]bool{}
		for queue := []admission.Identity{first.to}; len(queue) > 0; queue = queue[1:] {
			id := queue[0]
			if id == own {
				list = append(list, schema.Violation{Pointer: first.at, Message: fmt.Sprintf("the %s depends on itself by way of %s: Flux reconciles none of them",
					own.Kind, first.to.Name)})
				break
			}
			if seen[id] || id.Kind != own.Kind {
				continue
			}
			seen[id] = true
			on, _ := f.cluster.Get(ctx, id.Group, id.Kind, id.Namespace, id.Name)
			for _, next := range references(on) {
				queue = append(queue, next.to)
			}
		}
	}
	return list
}

// plain is an identity without the version.
func plain(id admission.Identity) admission.Identity {
	id.Version = ""
	return id
}

// referenceGoes finds that an object goes while objects of Flux refer to it.
func (f *apiFacts) referenceGoes(ctx context.Context, s Deployed) []Violation {
	id := plain(admission.IdentityOf(s.Old.Object))
	of := []admission.Identity{{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}, {Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}}
	if id.Kind != "ServiceAccount" || id.Group != "" {
		of = slices.DeleteFunc(of, func(kind admission.Identity) bool { return kind.Kind != id.Kind || kind.Group != id.Group })
	}
	if f == nil || f.cluster == nil || len(of) == 0 || !f.lacks(ctx, s.Root, id) {
		return nil
	}
	ctx = atHand(ctx, s.Root)
	for _, kind := range of {
		for _, o := range f.cluster.List(ctx, kind.Group, kind.Kind, "") {
			if slices.ContainsFunc(references(o), func(r reference) bool { return r.to == id }) {
				return []Violation{{"/metadata/name", fmt.Sprintf("%s %s still needs this %s: "+waits, kind.Kind, admission.IdentityOf(o).Name, id.Kind, "it")}}
			}
		}
	}
	return nil
}

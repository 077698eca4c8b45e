package builtin

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render/roots"
)

// undefined finds that a definition of custom resources goes while such objects stay deployed: the cluster deletes them with it
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#delete-a-customresourcedefinition).
func (f *apiFacts) undefined(ctx context.Context, s Deployed) []Violation {
	id, at := admission.IdentityOf(s.Old.Object), "/spec/names/kind"
	if id.Group == "" && id.Kind == "Namespace" {
		return f.emptied(ctx, s, id.Name)
	}
	stay, _ := f.objectsOf(ctx, s, nil)
	if stay == "" {
		return nil
	}
	ctx, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	_, defined := f.cluster.Get(ctx, id.Group, id.Kind, "", id.Name)
	if defined || f.brings(id) || lookups.Unknown() {
		return nil // another root defines it, or a source that is not rendered may
	}
	return []Violation{{at, "this kind is still in use: the cluster deletes " + stay + " with its definition, and refuses them from then on"}}
}

// brings reports whether the renderings of the change have an object of the whole cluster.
func (f *apiFacts) brings(id admission.Identity) bool {
	changed, ok := f.cluster.(seeing)
	if !ok {
		return false
	}
	_, has := declared.Find(changed.Seen(id.Group, id.Kind), "", id.Name)
	return has
}

// inNamespaces are kinds of objects that most namespaces with something in them have.
var inNamespaces = []admission.Identity{{Kind: "ConfigMap"}, {Kind: "Secret"}, {Kind: "Service"}, {Kind: "ServiceAccount"},
	{Kind: "PersistentVolumeClaim"}, {Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"}, {Group: "batch", Kind: "CronJob"}, {Group: "batch", Kind: "Job"},
	{Group: "networking.k8s.io", Kind: "Ingress"}, {Group: "networking.k8s.io", Kind: "NetworkPolicy"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, {Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}}

// emptied finds that a Namespace goes while objects in it stay deployed: the cluster deletes them with it, and refuses new ones
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/).
func (f *apiFacts) emptied(ctx context.Context, s Deployed, name string) []Violation {
	if f.cluster == nil {
		return nil
	}
	now, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	_, declares := f.cluster.Get(now, "", "Namespace", "", name)
	if declares || f.brings(admission.Identity{Kind: "Namespace", Name: name}) || lookups.Unknown() {
		return nil // another root declares it, or a source that is not rendered may
	}
	ctx = declared.Cautious(declared.Unrecorded(ctx), s.Root)
	for _, of := range inNamespaces {
		if list := f.cluster.List(ctx, of.Group, of.Kind, name); len(list) > 0 {
			return []Violation{{"/metadata/name", fmt.Sprintf("this namespace is still in use: the cluster deletes %s %s with it, and refuses "+
				"what is deployed to it from then on", of.Kind, admission.IdentityOf(list[0]).Name)}}
		}
	}
	return nil
}

// unserved finds that a definition no longer serves a version in which objects stay deployed.
func (f *apiFacts) unserved(ctx context.Context, s Deployed) []schema.Violation {
	if !s.Updated || s.Old == nil {
		return nil
	}
	now, was := servedBy(s.Object), servedBy(s.Old.Object)
	gone := slices.DeleteFunc(was, func(version string) bool { return slices.Contains(now, version) })
	if len(gone) == 0 {
		return nil
	}
	stay, version := f.objectsOf(ctx, s, gone)
	if stay == "" {
		return nil
	}
	ctx, _ = declared.For(declared.Unrecorded(ctx), roots.Root{})
	id := admission.IdentityOf(s.Object)
	if _, agree := f.cluster.Get(ctx, id.Group, id.Kind, "", id.Name); !agree {
		return nil // several roots define it in different ways: each environment may have its own
	}
	return []schema.Violation{{Pointer: "/spec/versions", Message: fmt.Sprintf(
		"version %s is still in use: the API server refuses %s from then on", version, stay)}}
}

// objectsOf names the deployed objects that a definition before the change is for, in some of its versions or in any, and the
// version of the first; "" if there are none, or it is no definition. Those of releases count where all of these are known.
func (f *apiFacts) objectsOf(ctx context.Context, s Deployed, versions []string) (name, version string) {
	id := admission.IdentityOf(s.Old.Object)
	group, kind := textAt(s.Old.Object, "/spec/group"), textAt(s.Old.Object, "/spec/names/kind")
	if id.Group != "apiextensions.k8s.io" || id.Kind != "CustomResourceDefinition" || kind == "" || f.cluster == nil {
		return "", ""
	}
	ctx = declared.Cautious(ctx, s.Root)
	list := f.cluster.List(ctx, group, kind, "")
	if len(list) == 0 {
		list = f.cluster.List(kinds.AskFor(ctx, ""), group, kind, "")
	}
	list = slices.DeleteFunc(slices.Clone(list), func(o admission.Object) bool {
		return versions != nil && !slices.Contains(versions, admission.IdentityOf(o).Version)
	})
	if len(list) == 0 {
		return "", ""
	}
	first := admission.IdentityOf(list[0])
	name = kind + " " + path.Join(first.Namespace, first.Name)
	if more := len(list) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name, first.Version
}

// servedBy lists the versions that a definition of custom resources serves; none for other objects.
func servedBy(o admission.Object) (versions []string) {
	if o["kind"] != "CustomResourceDefinition" {
		return nil
	}
	for _, v := range listAt(o, "/spec/versions") {
		if v["served"] == true {
			versions = append(versions, textAt(v, "/name"))
		}
	}
	return versions
}

package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// overLimits finds what the declared LimitRanges and ResourceQuotas of a namespace do not let Pods do, where the API server
// takes the object all the same: it makes Pods, which are refused then.
func overLimits(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	id := admission.IdentityOf(s.Object)
	at := templates[[2]string{id.Group, id.Kind}]
	if at == "" || id.Group == "argoproj.io" || schema.FilledIn(mapAt(s.Object, at+"/spec")) { // a Pod is refused itself
		return nil
	}
	template := mapAt(s.Object, at)
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}
	found := append(f.limited(ctx, s, pod, nil), f.filledIn(ctx, s, pod)...)
	for i, v := range found {
		found[i] = schema.Violation{Pointer: at + v.Pointer, Message: fmt.Sprintf(
			"%s: the API server takes the %s and refuses its Pods, which never start", v.Message, id.Kind)}
	}
	return found
}

// filledIn finds what the API server refuses of a Pod that an object makes once the LimitRanges of its namespace have filled in
// their defaults, such as a limit below the request that the Pod has.
func (f *apiFacts) filledIn(ctx context.Context, s Deployed, pod map[string]any) []schema.Violation {
	id := admission.IdentityOf(s.Object)
	if id.Namespace == "" || s.Fragment() || f.cluster == nil ||
		len(f.cluster.List(declared.Cautious(ctx, s.Root), "", "LimitRange", id.Namespace)) == 0 {
		return nil
	}
	pod = maps.Clone(pod)
	pod["metadata"] = map[string]any{"name": id.Name, "namespace": id.Namespace}
	said := apiserver.Look(ctx, pod, nil, f.Schemas.Minor(), false, nil).Refused
	found := apiserver.Look(ctx, pod, nil, f.Schemas.Minor(), false, f.plugins(ctx, pod, s.Root, true)).Refused
	found = slices.DeleteFunc(found, func(v schema.Violation) bool { return slices.Contains(said, v) })
	for i := range found {
		found[i].Message = strings.TrimSuffix(found[i].Message, ": "+apiserver.Refused) + " (with what admission plugins fill in)"
	}
	return found
}

// limited finds what the declared limits of its namespace have against an object that is deployed, or one that it makes. old is
// the object that it replaces, nil if it is new.
func (f *apiFacts) limited(ctx context.Context, s Deployed, object, old map[string]any) []schema.Violation {
	id := admission.IdentityOf(s.Object)
	if id.Namespace == "" || s.Fragment() || f.cluster == nil {
		return nil
	}
	ctx = declared.Cautious(ctx, s.Root)
	limits := apiserver.Limits{Quotas: f.cluster.List(ctx, "", "ResourceQuota", id.Namespace)}
	if kind := object["kind"]; kind == "Pod" || kind == "PersistentVolumeClaim" {
		limits.Ranges = f.cluster.List(ctx, "", "LimitRange", id.Namespace)
	}
	found, failed := limits.Refuse(ctx, object, old)
	if failed {
		f.unusable.Store(cmp.Or(s.rendered, s.Resource), "Kubernetes' own check of limits crashed on it")
	}
	return found
}

// unresizable finds a PersistentVolumeClaim that grows although its StorageClass, which is declared, does not allow that
// (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims).
func (f *apiFacts) unresizable(ctx context.Context, s Deployed) []schema.Violation {
	const size = "/spec/resources/requests/storage"
	old := s.replaced()
	class := func(o map[string]any) string {
		return cmp.Or(textAt(o, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class"), textAt(o, "/spec/storageClassName"))
	}
	name := class(s.Object)
	if s.Object["kind"] != "PersistentVolumeClaim" || s.Object["apiVersion"] != "v1" || old == nil || name == "" || name != class(old) || f.cluster == nil {
		return nil
	}
	was, err := resource.ParseQuantity(fmt.Sprint(jsonpointer.At(old, size)))
	now, failed := resource.ParseQuantity(fmt.Sprint(jsonpointer.At(s.Object, size)))
	if err != nil || failed != nil || now.Cmp(was) <= 0 {
		return nil
	}
	for _, o := range f.cluster.List(declared.Cautious(ctx, s.Root), "storage.k8s.io", "StorageClass", "") {
		if allowed := o["allowVolumeExpansion"]; textAt(o, "/metadata/name") == name && allowed != true && !schema.FilledIn(allowed) {
			return []schema.Violation{{Pointer: size, Message: fmt.Sprintf("StorageClass %s does not let its claims grow "+
				"(allowVolumeExpansion): %s", name, apiserver.Fixed)}}
		}
	}
	return nil
}

package builtin

import (
	"context"
	"fmt"
	"path"

	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
)

// undefined finds that a definition of custom resources goes while such objects stay deployed: the cluster deletes them with it
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#delete-a-customresourcedefinition).
func (f *apiFacts) undefined(ctx context.Context, s Deployed) []Violation {
	const definitions = "apiextensions.k8s.io"
	id := admission.IdentityOf(s.Old.Object)
	if id.Group != definitions || id.Kind != "CustomResourceDefinition" || f.cluster == nil {
		return nil
	}
	const at = "/spec/names/kind"
	group, kind := textAt(s.Old.Object, "/spec/group"), textAt(s.Old.Object, at)
	stay := f.cluster.List(declared.Cautious(ctx, s.Root), group, kind, "")
	if kind == "" || len(stay) == 0 {
		return nil
	}
	ctx, lookups := declared.For(declared.Unrecorded(ctx), s.Root)
	var brought []admission.Object
	if changed, ok := f.cluster.(seeing); ok {
		brought = changed.Seen(definitions, id.Kind)
	}
	_, defined := f.cluster.Get(ctx, definitions, id.Kind, "", id.Name)
	if _, moves := declared.Find(brought, "", id.Name); defined || moves || lookups.Unknown() {
		return nil // another root defines it, or a source that is not rendered may
	}
	first, more := admission.IdentityOf(stay[0]), ""
	if n := len(stay) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return []Violation{{at, fmt.Sprintf("this kind is still in use: the cluster deletes %s %s%s with its definition, and refuses them from then on",
		kind, path.Join(first.Namespace, first.Name), more)}}
}

package builtin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
)

// overLimits finds what the declared LimitRanges and ResourceQuotas of a namespace do not let Pods do, where the API server
// takes the object all the same: it makes Pods, which are refused then.
func overLimits(ctx context.Context, f *apiFacts, s Deployed) []schema.Violation {
	kind := s.Object["kind"]
	if kind == "Pod" || kind == "PersistentVolumeClaim" { // these are refused
		return nil
	}
	return f.limited(ctx, s, fmt.Sprintf("the API server takes the %v and refuses its Pods, which never start", kind))
}

// limited finds what the declared limits of its namespace have against an object, or against the Pods that it makes.
func (f *apiFacts) limited(ctx context.Context, s Deployed, effect string) (found []schema.Violation) {
	id := admission.IdentityOf(s.Object)
	at, makes := templates[[2]string{id.Group, id.Kind}]
	claim := id.Group == "" && id.Kind == "PersistentVolumeClaim"
	if !makes && !claim || id.Group == "argoproj.io" || id.Namespace == "" || s.Fragment() || f.cluster == nil {
		return nil
	}
	ctx = declared.Cautious(unnoted{ctx}, s.Root)
	limits := apiserver.Limits{Ranges: f.cluster.List(ctx, "", "LimitRange", id.Namespace),
		Quotas: f.cluster.List(ctx, "", "ResourceQuota", id.Namespace)}
	object := s.Object
	if at != "" {
		template := mapAt(s.Object, at)
		object = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]}
	}
	refused, failed := limits.Refuse(ctx, object)
	if failed {
		f.unusable.Store(cmp.Or(s.rendered, s.Resource), "Kubernetes' own check of limits crashed on it")
	}
	for _, v := range refused {
		if !filledIn(mapAt(s.Object, at+"/spec")) {
			found = append(found, schema.Violation{Pointer: at + v.Pointer, Message: v.Message + ": " + effect})
		}
	}
	return found
}

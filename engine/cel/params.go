package cel

import (
	"cmp"
	"context"
	"errors"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// params are the objects that a paramRef selects; a single nil where the policy takes none
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources).
// The error is a *admission.NeedsClusterError where the repository declares no such object, unless the change removes what
// the binding cannot do without.
func (p *program) params(ctx context.Context, r *admission.Request, env Env, kind *policy.ParamKind,
	ref *policy.ParamRef) ([]any, error) {
	if kind == nil || ref == nil {
		return []any{nil}, nil
	}
	group, _ := admission.SplitVersion(kind.APIVersion)
	namespaced, _ := kinds.Namespaced(group, kind.Kind) // false also where the scope of the kind is not known
	namespace := ref.Namespace
	if namespace == "" && !kinds.ClusterScoped(group, kind.Kind) {
		id := admission.IdentityOf(r.CurrentObject())
		if r.Unplaced(id) {
			return nil, admission.NeedsNamespace(id)
		}
		if namespace = id.Namespace; id.Kind == "Namespace" && id.Group == "" { // a request about it is in it
			namespace = id.Name
		}
		if namespace == "" && namespaced {
			return nil, errors.New("failed to configure binding: cannot use namespaced paramRef in policy binding that matches " +
				"cluster-scoped resources")
		}
	}
	needs := &admission.NeedsClusterError{What: kind.Kind + " for the parameters of the policy"}
	if env.Cluster == nil {
		return nil, needs
	}
	if ref.Name != "" {
		o, ok := env.Cluster.Get(ctx, group, kind.Kind, namespace, ref.Name)
		if !ok && !namespaced {
			o, ok = env.Cluster.Get(ctx, group, kind.Kind, "", ref.Name)
		}
		if ok {
			return []any{o}, nil
		}
		if ref.ParameterNotFoundAction == "Deny" && admission.Removed(ctx, env.Cluster, group, kind.Kind, namespace, ref.Name) {
			return nil, errors.New("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
		}
		needs.What = kind.Kind + " " + ref.Name
		if namespace != "" {
			needs.What = kind.Kind + " " + namespace + "/" + ref.Name
		}
		return nil, needs
	}
	selector, err := v1.LabelSelectorAsSelector(cmp.Or(ref.Selector, &v1.LabelSelector{})) // without one, all objects
	if err != nil {
		return nil, err
	}
	var out []any
	for _, o := range env.Cluster.List(ctx, group, kind.Kind, namespace) {
		if selector.Matches(admission.LabelsOf(o)) {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nil, needs
	}
	return out, nil
}

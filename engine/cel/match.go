package cel

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// matcher is a compiled MatchResources block: immutable.
type matcher struct {
	rules, exclude     []policy.ResourceRule
	object, namespaces labels.Selector // nil means all
	// namespaceNameOnly is set if the namespace selector only uses the label with the namespace's name, which every
	// namespace has.
	namespaceNameOnly bool
	// converts is set if the API server converts an object to the version of a rule (matchPolicy Equivalent).
	converts bool
}

// nameLabel is set on each namespace by Kubernetes, with its name.
const nameLabel = "kubernetes.io/metadata.name"

// constraints compiles the matchConstraints of a policy, which have to name resources.
func (c *compiler) constraints(m *policy.MatchResources) *matcher {
	const at = "/spec/matchConstraints"
	if m == nil || len(m.ResourceRules) == 0 {
		c.problem(at, "matchConstraints.resourceRules is empty: the policy would match nothing")
	}
	return c.matching(at, m)
}

// matching compiles a MatchResources block; nil matches everything.
func (c *compiler) matching(pointer string, m *policy.MatchResources) *matcher {
	out := &matcher{}
	if m == nil {
		return out
	}
	out.rules, out.exclude = m.ResourceRules, m.ExcludeResourceRules
	out.object = c.selector(pointer+"/objectSelector", m.ObjectSelector)
	out.namespaces = c.selector(pointer+"/namespaceSelector", m.NamespaceSelector)
	if out.namespaces != nil {
		asked, _ := out.namespaces.Requirements()
		out.namespaceNameOnly = !slices.ContainsFunc(asked, func(r labels.Requirement) bool { return r.Key() != nameLabel })
	}
	switch m.MatchPolicy {
	case "", "Exact", "Equivalent":
	default:
		c.problem(pointer+"/matchPolicy", "matchPolicy %q is neither Exact nor Equivalent", m.MatchPolicy)
	}
	for i, r := range slices.Concat(m.ResourceRules, m.ExcludeResourceRules) {
		list, at := "/resourceRules/", i
		if i >= len(m.ResourceRules) {
			list, at = "/excludeResourceRules/", i-len(m.ResourceRules)
		}
		for _, op := range r.Operations {
			if !slices.Contains([]string{"*", "CREATE", "UPDATE", "DELETE", "CONNECT"}, op) {
				c.problem(pointer+list+itoa(at)+"/operations", "%q is not an operation: use CREATE, UPDATE, DELETE, "+
					"CONNECT or *", op)
			}
		}
	}
	return out
}

func (c *compiler) selector(pointer string, s *policy.Selector) labels.Selector {
	if !selects(s) {
		return nil
	}
	out, err := v1.LabelSelectorAsSelector(s)
	if err != nil {
		c.problem(pointer, "the selector is not valid: %s", firstLine(err.Error()))
		return nil
	}
	return out
}

// converting makes the matcher one of the API server's own, which converts objects unless the block says otherwise.
func (m *matcher) converting(of *policy.MatchResources) *matcher {
	m.converts = of != nil && of.MatchPolicy != "Exact"
	return m
}

// matches reports whether the block selects the request. The error is a *admission.NeedsClusterError if only the cluster
// knows that. Where it depends on the namespace alone, the result is true with the error: the block may select the request.
func (m *matcher) matches(ctx context.Context, r *admission.Request, cluster admission.Cluster) (bool, error) {
	id := r.Identity()
	custom := func(plural string) bool { return kinds.Defined(ctx, cluster, id.Group, id.Kind, plural) }
	about := func(rule policy.ResourceRule) bool { return inRule(rule, r, id, custom) }
	version := "" // to which the object is converted
	if len(m.rules) > 0 && !slices.ContainsFunc(m.rules, about) {
		i := slices.IndexFunc(m.rules, func(rule policy.ResourceRule) bool {
			version = strings.Join(rule.APIVersions, ", ")
			rule.APIVersions = nil
			return m.converts && about(rule)
		})
		if i < 0 {
			return false, nil
		}
	}
	if slices.ContainsFunc(m.exclude, about) {
		return false, nil
	}
	if m.object != nil && !m.selects(r.Object) && !m.selects(r.OldObject) {
		return false, nil
	}
	in, err := m.inNamespace(r, id)
	if in && version != "" { // as it is, the object says nothing about what is evaluated
		return false, &admission.NeedsClusterError{What: id.Kind + " " + id.Name + " in version " + version +
			", to which the API server converts it"}
	}
	return in, err
}

// selects reports whether the object selector selects an object. A missing object is never selected, not even by a
// selector that requires a label to be absent.
func (m *matcher) selects(o admission.Object) bool {
	return o != nil && m.object.Matches(admission.LabelsOf(o))
}

func (m *matcher) inNamespace(r *admission.Request, id admission.Identity) (bool, error) {
	switch {
	case m.namespaces == nil:
		return true, nil
	case id.Kind == "Namespace" && id.Group == "":
		set := admission.LabelsOf(r.CurrentObject())
		set[nameLabel] = id.Name
		return m.namespaces.Matches(set), nil
	case r.Unplaced(id):
		return true, admission.NeedsNamespace(id)
	case id.Namespace == "":
		// The selector does not apply to objects without a namespace.
		return true, nil
	case r.Namespace != nil:
		set := admission.LabelsOf(r.Namespace)
		set[nameLabel] = id.Namespace
		return m.namespaces.Matches(set), nil
	case m.namespaceNameOnly:
		return m.namespaces.Matches(labels.Set{nameLabel: id.Namespace}), nil
	}
	return true, &admission.NeedsClusterError{What: "Namespace " + id.Namespace}
}

// inRule reports whether one line of resourceRules matches. Missing lists match everything, except resources. custom
// reports whether a plural name that differs from the usual one belongs to the object's kind.
func inRule(rule policy.ResourceRule, r *admission.Request, id admission.Identity, custom func(string) bool) bool {
	if !listed(rule.Operations, string(r.Operation)) || !listed(rule.APIGroups, id.Group) ||
		!listed(rule.APIVersions, id.Version) {
		return false
	}
	if len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, id.Name) {
		return false
	}
	namespaced, known := kinds.Namespaced(id.Group, id.Kind)
	switch rule.Scope {
	case "Cluster":
		if known && namespaced || !known && id.Namespace != "" {
			return false
		}
	case "Namespaced":
		// A custom resource without a namespace may be a namespaced one whose namespace is not set yet.
		if known && !namespaced {
			return false
		}
	}
	plural := kinds.PluralOf(id.Group, id.Kind)
	return slices.ContainsFunc(rule.Resources, func(s string) bool {
		name, sub, hasSub := strings.Cut(s, "/")
		if !hasSub && r.SubResource != "" || hasSub && sub != "*" && sub != r.SubResource {
			return false
		}
		return name == "*" || name == plural || custom(name)
	})
}

func listed(list []string, s string) bool {
	return len(list) == 0 || slices.Contains(list, "*") || slices.Contains(list, s)
}

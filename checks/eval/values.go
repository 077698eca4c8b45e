package eval

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Values are the variables of a values file. They replace answers of a cluster
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_apply/, apis/v1alpha1/values_spec.go of Kyverno). Keys may be
// dotted.
type Values struct {
	GlobalValues map[string]any     `json:"globalValues"`
	Policies     []PolicyValues     `json:"policies"`
	Selectors    []NamespaceLabels  `json:"namespaceSelector"`
	Namespaces   []admission.Object `json:"namespaces"` // whole Namespaces; they win over namespaceSelector
	Subresources []Subresource      `json:"subresources"`
}

// Subresource says of which kind objects of another kind are a subresource: a Scale of a Deployment.
type Subresource struct {
	Subresource    metav1.APIResource `json:"subresource"` // its name has that of its parent: "deployments/scale"
	ParentResource metav1.APIResource `json:"parentResource"`
}

// subresource converts the request for an object that is a subresource.
func (v *Values) subresource(r *admission.Request) {
	if v == nil {
		return
	}
	id := admission.IdentityOf(r.CurrentObject())
	for _, s := range v.Subresources {
		if s.Subresource.Group == id.Group && s.Subresource.Version == id.Version && s.Subresource.Kind == id.Kind {
			p := s.ParentResource
			r.Parent = admission.Identity{Group: p.Group, Version: p.Version, Kind: p.Kind}
			_, r.SubResource, _ = strings.Cut(s.Subresource.Name, "/")
		}
	}
}

// PolicyValues are the values of one policy.
type PolicyValues struct {
	Name      string           `json:"name"`
	Resources []ResourceValues `json:"resources"` // win over the global values
	Rules     []RuleValues     `json:"rules"`
}

// ResourceValues are the values for objects of a name.
type ResourceValues struct {
	Name   string         `json:"name"`
	Values map[string]any `json:"values"`
}

// RuleValues are the values of a rule, generated forms of the rule included.
type RuleValues struct {
	Name          string           `json:"name"`
	Values        map[string]any   `json:"values"`
	ForeachValues map[string][]any `json:"foreachValues"`
}

// NamespaceLabels are the labels of a namespace.
type NamespaceLabels struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

// of returns the values for a policy and an object. The caller may change them.
func (v *Values) of(policy, object string) map[string]any {
	out := map[string]any{}
	maps.Copy(out, v.GlobalValues)
	for _, p := range v.Policies {
		if p.Name != policy {
			continue
		}
		for _, r := range p.Resources {
			if r.Name == object {
				maps.Copy(out, r.Values)
			}
		}
	}
	return out
}

// ofRule adds the values of a rule. Of values for foreach, the first counts.
func (v *Values) ofRule(out map[string]any, policy, rule string) {
	rule = strings.TrimPrefix(strings.TrimPrefix(rule, "autogen-"), "cronjob-")
	for _, p := range v.Policies {
		for _, r := range p.Rules {
			if p.Name != policy || r.Name != rule {
				continue
			}
			maps.Copy(out, r.Values)
			for k, list := range r.ForeachValues {
				if len(list) > 0 {
					out[k] = list[0]
				}
			}
		}
	}
}

// aboutRequest reports whether a value is a part of the request rather than a variable.
func aboutRequest(key string) bool {
	return key == "request.operation" || strings.HasPrefix(key, "request.object.")
}

// splitRequest removes the values that are parts of the request, and returns them.
func splitRequest(values map[string]any) (request map[string]any) {
	request = map[string]any{}
	for k, v := range values {
		if aboutRequest(k) {
			request[k] = v
			delete(values, k)
		}
	}
	return request
}

// namespaces lists the values for a namespace, the most important last.
func (v *Values) namespaces(name string) []admission.Object {
	if v == nil {
		return nil
	}
	var out []admission.Object
	for _, n := range v.Selectors {
		if n.Name == name {
			out = append(out, admission.Object{"metadata": map[string]any{"labels": jsonpointer.Object(n.Labels)}})
		}
	}
	named := func(o admission.Object) bool { return admission.IdentityOf(o).Name == name }
	return append(out, report.Kept(v.Namespaces, named)...)
}

// ParseValues reads a values file, strictly: an unknown field is a problem.
func ParseValues(src rules.File) (*Values, []policy.Problem) {
	var file struct {
		Header
		Values
	}
	problems := parseFile(src, "Values", &file)
	return &file.Values, problems
}

// ParseUser reads a file of kind UserInfo of cli.kyverno.io (apis/v1alpha1/user_info.go of Kyverno), strictly.
func ParseUser(src rules.File) (settings.Requester, []policy.Problem) {
	var file struct {
		Header
		Roles        []string           `json:"roles"`
		ClusterRoles []string           `json:"clusterRoles"`
		UserInfo     admission.UserInfo `json:"userInfo"`
	}
	problems := parseFile(src, "UserInfo", &file)
	return settings.Requester{Info: file.UserInfo, Roles: file.Roles, ClusterRoles: file.ClusterRoles}, problems
}

// Header are the fields that all files of cli.kyverno.io have. Kyverno only looks whether they are there.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   any    `json:"metadata"`
}

// parseFile decodes the one document of a file.
func parseFile(src rules.File, kind string, into any) []policy.Problem {
	docs, problems := src.Documents()
	switch {
	case len(problems) > 0:
		return problems
	case len(docs) == 0 || docs[0].APIVersion == "":
		return []policy.Problem{{Path: src.Path,
			Message: fmt.Sprintf("the file has no apiVersion and kind: write cli.kyverno.io/v1alpha1 and %s", kind)}}
	case len(docs) > 1:
		return []policy.Problem{docs[1].Problem("", "the file holds more than one document: keep the one of kind %s", kind)}
	}
	return policy.Decode(docs[0], into)
}

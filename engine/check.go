package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// check finds mistakes in a policy that the API server or Kyverno's own webhook would refuse and that compiling its
// rules does not find (https://kyverno.io/docs/policy-types/cluster-policy/policy-settings/).
func check(d policy.Document, p *policy.ClusterPolicy, tree any) []policy.Problem {
	c := &checker{doc: d, tree: tree, namespaced: d.Kind == "Policy", background: p.Spec.Background == nil || *p.Spec.Background}
	c.problems = checkMetadata(d, p.Metadata)
	if len(p.Metadata.Name) > 63 {
		c.bad("/metadata/name", "the name has %d characters: a policy's has at most 63", len(p.Metadata.Name))
	}
	c.spec(&p.Spec)
	c.controllers(p)
	for i := range p.Spec.Rules {
		at := fmt.Sprintf("/spec/rules/%d", i)
		c.rule(at, &p.Spec.Rules[i])
		c.webhook(at, &p.Spec.Rules[i], p.Spec.Admission == nil || *p.Spec.Admission)
	}
	return append(c.problems, deprecated(d, p)...)
}

// outdated warns about versions that Kyverno is about to remove.
func outdated(d policy.Document) []policy.Problem {
	if d.Group() != "kyverno.io" || d.Version() != "v2alpha1" {
		return nil
	}
	return []policy.Problem{d.Deprecation("/apiVersion", "kyverno.io/v2alpha1 is deprecated: use kyverno.io/v2")}
}

// checkException finds mistakes in an exception of kyverno.io that the API server or Kyverno would refuse
// (https://kyverno.io/docs/exceptions/).
func checkException(d policy.Document, e policy.PolicyException) []policy.Problem {
	c := &checker{doc: d, tree: d.Value(), background: e.Spec.Background == nil || *e.Spec.Background}
	c.problems = append(outdated(d), checkMetadata(d, e.Metadata)...)
	c.block("/spec/match", e.Spec.Match, &policy.Rule{})
	c.userless = c.background
	c.strings("/spec/conditions", predefined)
	c.operations("/spec/conditions")
	if _, isMap := e.Spec.Conditions.(map[string]any); !isMap && e.Spec.Conditions != nil {
		c.bad("/spec/conditions", "the conditions of an exception are no list: write any or all")
	}
	jsonpointer.Walk(jsonpointer.At(c.tree, "/spec/conditions"), "/spec/conditions", func(pointer string, value any) {
		m, _ := value.(map[string]any)
		operator, _ := m["operator"].(string)
		if instead, deprecated := condition.IsDeprecated(operator); deprecated && !strings.HasPrefix(operator, "Duration") {
			c.bad(pointer+"/operator", "exceptions have no operator %s: use %s", operator, instead)
		}
	})
	return c.problems
}

type checker struct {
	doc                    policy.Document
	tree                   any // the document as JSON
	namespaced, background bool
	userless               bool // what is checked may not ask for the user
	annotated              bool // the policy says itself which rules to generate for pod controllers
	problems               []policy.Problem
}

func (c *checker) bad(pointer, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Problem(pointer, format, args...))
}

func (c *checker) warn(pointer, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Warning(pointer, format, args...))
}

// checkMetadata checks the names of an object
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/).
func checkMetadata(d policy.Document, m policy.Metadata) []policy.Problem {
	c := &checker{doc: d}
	// A name that is a template of another tool is not final yet.
	final := func(s string) bool { return s != "" && !strings.ContainsAny(s, "{}$") }
	if final(m.Name) && len(validation.IsDNS1123Subdomain(m.Name)) > 0 {
		c.bad("/metadata/name", "%q is not a valid name of an object: use lower case letters, digits, - and . only, up to 253", m.Name)
	}
	if final(m.Namespace) && len(validation.IsDNS1123Label(m.Namespace)) > 0 {
		c.bad("/metadata/namespace", "%q is not a valid name of a namespace: use lower case letters, digits and - only, up to 63",
			m.Namespace)
	}
	for k, v := range m.Labels {
		at := "/metadata/labels/" + jsonpointer.Escape(k)
		if len(validation.IsQualifiedName(k)) > 0 {
			c.bad(at, "%q is not a valid label key: write a name of up to 63 letters, digits, -, _ and ., or domain/name", k)
		}
		// A date with colons is no valid value of a label, but its meaning is clear.
		if len(validation.IsValidLabelValue(v)) > 0 && !strings.ContainsAny(v, "{}$") && k != ttlLabel {
			c.bad(at, "%q is not a valid label value: use up to 63 letters, digits, -, _ and .", v)
		}
	}
	for k := range m.Annotations {
		if len(validation.IsQualifiedName(strings.ToLower(k))) > 0 {
			c.bad("/metadata/annotations/"+jsonpointer.Escape(k),
				"%q is not a valid annotation key: write a name of up to 63 letters, digits, -, _ and ., or domain/name", k)
		}
	}
	return c.problems
}

func (c *checker) seconds(pointer string, value *int32) {
	if value != nil && (*value < 1 || *value > 30) {
		c.bad(pointer, "the timeout is %d seconds and must be from 1 to 30", *value)
	}
}

func (c *checker) spec(s *policy.Spec) {
	c.seconds("/spec/webhookTimeoutSeconds", s.WebhookTimeoutSeconds)
	if w := s.WebhookConfiguration; w != nil {
		c.seconds("/spec/webhookConfiguration/timeoutSeconds", w.TimeoutSeconds)
		if w.FailurePolicy != "" && s.FailurePolicy != "" {
			c.bad("/spec/failurePolicy", "the failure policy is also written under webhookConfiguration: keep that one")
		}
		if w.TimeoutSeconds != nil && s.WebhookTimeoutSeconds != nil {
			c.bad("/spec/webhookTimeoutSeconds", "the timeout is also written under webhookConfiguration: keep that one")
		}
	}
	if s.Admission != nil && !*s.Admission && !c.background {
		c.bad("/spec/admission", "the policy is never evaluated: set spec.admission or spec.background to true")
	}
	if c.namespaced && len(s.ValidationFailureActionOverrides) > 0 {
		c.bad("/spec/validationFailureActionOverrides",
			"overrides by namespace are for a ClusterPolicy only: a Policy has one namespace")
	}
	c.overrides("/spec/validationFailureActionOverrides", s.ValidationFailureActionOverrides)
	for i, r := range s.Rules {
		at := fmt.Sprintf("/spec/rules/%d", i)
		if m := r.Mutate; m != nil && m.Targets == nil {
			where := at + "/mutate/mutateExistingOnPolicyUpdate"
			existing := m.MutateExistingOnPolicyUpdate
			if existing == nil {
				existing, where = s.MutateExistingOnPolicyUpdate, "/spec/mutateExistingOnPolicyUpdate"
			}
			if existing != nil && *existing {
				c.bad(where, "rule %s has no mutate.targets, so there are no existing objects to change: add them", r.Name)
			}
		}
	}
}

// overrides reports namespaces that two overrides with different actions apply to.
func (c *checker) overrides(pointer string, list []policy.FailureActionOverride) {
	claimed := map[string]string{}
	for i, o := range list {
		if len(o.Namespaces) == 0 && o.NamespaceSelector == nil {
			c.warn(fmt.Sprintf("%s/%d", pointer, i),
				"the override names no namespaces and applies to all: change the action itself, or add namespaces or namespaceSelector")
		}
		if o.NamespaceSelector != nil {
			continue
		}
		action := strings.ToLower(o.Action)
		for j, n := range o.Namespaces {
			if before, ok := claimed[n]; ok && before != action {
				c.bad(fmt.Sprintf("%s/%d/namespaces/%d", pointer, i, j),
					"an earlier override gives namespace %q another action: keep one", n)
			}
			claimed[n] = action
		}
	}
}

// controllers checks the annotation that chooses for which pod controllers rules are generated.
func (c *checker) controllers(p *policy.ClusterPolicy) {
	value, ok := p.Metadata.Annotations[match.AutogenAnnotation]
	if c.annotated = ok; !ok {
		return
	}
	known := []string{"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet", "CronJob"}
	for name := range strings.SplitSeq(value, ",") {
		at, hint, trimmed := "/metadata/annotations/"+jsonpointer.Escape(match.AutogenAnnotation), "", strings.TrimSpace(name)
		switch {
		case trimmed == "" || trimmed == "none" || slices.Contains(known, name):
			continue
		case trimmed == "all":
			c.warn(at, "Kyverno refuses %q here: remove the annotation, which means the same", trimmed)
			continue
		case slices.Contains(known, trimmed):
			hint = ": Kyverno reads the name with the space, remove it"
		default:
			name, hint = trimmed, policy.DidYouMean(policy.Nearest(trimmed, known))
		}
		c.warn(at, "no rules are generated for %q%s", name, hint)
	}
}

func (c *checker) rule(at string, r *policy.Rule) {
	if len(r.Name) > 63 {
		c.bad(at+"/name", "the name has %d characters: a rule's has at most 63", len(r.Name))
	}
	c.block(at+"/match", r.Match, r)
	if r.Exclude != nil {
		c.block(at+"/exclude", *r.Exclude, r)
	}
	c.variables(at, r)
	c.operations(at + "/preconditions")
	if v := r.Validate; v != nil {
		c.besidePod(at+"/match", r.Match)
		c.operations(at + "/validate/deny")
		c.operations(at + "/validate/foreach")
		c.metadata(at+"/validate/pattern", v.Pattern)
		if len(v.ForEach) > 0 { // Kyverno looks at the first only
			c.metadata(at+"/validate/foreach/0/pattern", v.ForEach[0].Pattern)
		}
		if list, ok := v.AnyPattern.([]any); ok {
			for i, p := range list {
				c.metadata(fmt.Sprintf("%s/validate/anyPattern/%d", at, i), p)
			}
		}
		if c.namespaced && len(v.FailureActionOverrides) > 0 {
			c.bad(at+"/validate/failureActionOverrides",
				"overrides by namespace are for a ClusterPolicy only: a Policy has one namespace")
		}
		c.overrides(at+"/validate/failureActionOverrides", v.FailureActionOverrides)
		c.overrides(at+"/validate/validationFailureActionOverrides", v.ValidationFailureActionOverrides)
	}
	if m := r.Mutate; m != nil {
		c.operations(at + "/mutate/foreach")
		c.metadata(at+"/mutate/patchStrategicMerge", m.PatchStrategicMerge)
		c.patchPaths(at+"/mutate/patchesJson6902", m.PatchesJSON6902)
	}
}

// block checks what depends on more than the block itself: the kind of the policy, and whether it applies to background
// scans.
func (c *checker) block(at string, m policy.Match, r *policy.Rule) {
	for at, f := range filters(at, m) {
		if c.background {
			for _, u := range []struct {
				field string
				set   bool
			}{{"roles", len(f.Roles) > 0}, {"clusterRoles", len(f.ClusterRoles) > 0}, {"subjects", len(f.Subjects) > 0}} {
				if u.set {
					c.bad(at+"/"+u.field, "%s are not available in a background scan, which this policy allows: set "+
						"spec.background to "+
						"false", u.field)
				}
			}
		}
		if c.namespaced && len(f.Resources.Namespaces) > 0 {
			c.bad(at+"/resources/namespaces", "a Policy applies to its own namespace only: remove namespaces, or make it a "+
				"ClusterPolicy")
		}
		if f.Resources.Name != "" && len(f.Resources.Names) > 0 {
			c.bad(at+"/resources/name", "name and names are both set: keep names")
		}
		if s := f.Resources.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			c.bad(at+"/resources/selector", "the selector has no labels: add some, or remove it")
		}
		for i, k := range f.Resources.Kinds {
			c.kind(fmt.Sprintf("%s/resources/kinds/%d", at, i), k, r.Validate != nil)
		}
		all := slices.Index(f.Resources.Kinds, "*")
		if all < 0 || c.doc.Kind == "PolicyException" {
			continue // exceptions may name all kinds
		}
		if c.background {
			c.bad(fmt.Sprintf("%s/resources/kinds/%d", at, all), "the kind * is not allowed in a background scan, which this policy "+
				"allows: set spec.background to false")
		}
		if len(f.Resources.Kinds) > 1 {
			c.bad(at+"/resources/kinds", "the kind * stands for all kinds: remove the others")
		}
	}
}

func (c *checker) kind(at, selector string, validates bool) {
	k, ok := match.ParseKind(selector)
	if !ok {
		return // reported where the block is compiled
	}
	if k.SubResource != "" && k.SubResource != "*" && c.background && validates {
		c.bad(at, "the subresource %s is not available in a background scan, which this policy allows: set spec.background to "+
			"false", selector)
	}
	near, unknown := kinds.Misspelled(k.Kind)
	switch {
	case unknown:
		c.bad(at, "%q is not a kind: write the kind in upper camel case and the singular, as in a manifest%s", k.Kind,
			policy.DidYouMean(near))
	case near != "":
		c.warn(at, "Kubernetes has no kind %q%s", k.Kind, policy.DidYouMean(near))
	}
	if kinds.NoVersion([]string{k.Group}, k.Version) {
		c.warn(at, "%s has no version %s: this matches nothing", cmp.Or(k.Group, "Kubernetes' core API"), k.Version)
	}
	if c.namespaced && kinds.ClusterScoped(k.Group, k.Kind) {
		c.bad(at, "%s objects have no namespace, and a Policy applies to its own only: make it a ClusterPolicy", k.Kind)
	}
}

// metadata refuses labels and annotations in a pattern that are not text, since those of objects are always text.
func (c *checker) metadata(at string, pattern any) {
	for _, path := range []string{"/metadata", "/spec/template/metadata"} {
		for _, part := range []string{"labels", "annotations"} {
			m, _ := jsonpointer.At(pattern, path+"/"+part).(map[string]any)
			for k, v := range m {
				switch v.(type) {
				case string:
				case bool, int64, float64:
					c.bad(at+path+"/"+part+"/"+jsonpointer.Escape(k), "%s are text: put %v in quotes", part, v)
				default:
					c.bad(at+path+"/"+part+"/"+jsonpointer.Escape(k), "%s are text, and Kyverno rejects anything "+
						"else here: write text, or leave %s out", part, k)
				}
			}
		}
	}
}

// operations checks the values that conditions compare with the operation of the request, and durations that are
// literals.
func (c *checker) operations(at string) {
	allowed := []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}
	jsonpointer.Walk(jsonpointer.At(c.tree, at), at, func(pointer string, value any) {
		m, _ := value.(map[string]any)
		operator, _ := m["operator"].(string)
		key, _ := m["key"].(string)
		if strings.ReplaceAll(key, " ", "") == "{{request.operation}}" {
			walkStrings(m["value"], pointer+"/value", func(at, s string) {
				if !strings.Contains(s, "{{") && !slices.Contains(allowed, s) {
					c.bad(at, "unknown operation %q: use %s", s, strings.Join(allowed, ", "))
				}
			})
		}
		if strings.HasPrefix(operator, "Duration") {
			if s, ok := m["value"].(string); ok && !strings.Contains(s, "{{") {
				if _, err := time.ParseDuration(s); err != nil {
					c.bad(pointer+"/value", "%q is not a duration: write for example 1h30m", s)
				}
			}
		}
	})
}

// patchPaths refuses variables in the paths of a JSON patch, where Kyverno does not resolve them
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/#evaluation-order).
func (c *checker) patchPaths(at, patch string) {
	var list yaml.Node
	if yaml.Unmarshal([]byte(patch), &list) != nil || len(list.Content) == 0 {
		return // reported where it is compiled
	}
	for _, operation := range list.Content[0].Content {
		for i := 0; i+1 < len(operation.Content); i += 2 {
			if operation.Content[i].Value == "path" && strings.Contains(operation.Content[i+1].Value, "{{") {
				l, column := c.doc.TextPosition(at, operation.Content[i].Line, operation.Content[i].Column)
				c.problems = append(c.problems, policy.Problem{Path: c.doc.Path, Line: l, Column: column,
					Message: "variables are not resolved in the path of a JSON patch: use foreach or patchStrategicMerge"})
			}
		}
	}
}

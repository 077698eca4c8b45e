package eval

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// Setup is what a Reviewer is made of; only Policies is needed.
type Setup struct {
	Policies   *engine.Policies
	Exceptions []*engine.Exception // those that count
	Cluster    *Objects
	Values     *Values
	User       User
	Namespaces []admission.Object // Namespaces that are not in Cluster but will be there, too
	// AnyNamespace says that namespaces nobody declares exist, without labels. Else what depends on the labels of
	// such a one is not known.
	AnyNamespace bool
}

// Reviewer asks policies about objects, one at a time, with the variables of a values file. It is immutable and
// safe for concurrent use.
type Reviewer struct {
	Setup
	evaluator *engine.Evaluator
	names     []string // of the policies
	split     bool     // values can change the request, by policy
}

// NewReviewer binds policies to what the cluster holds.
func NewReviewer(s Setup) *Reviewer {
	r := &Reviewer{Setup: s}
	var cluster admission.Cluster
	if !s.Cluster.Empty() {
		cluster = s.Cluster
	}
	r.evaluator = s.Policies.Bind(s.Exceptions, cluster)
	if s.Values == nil {
		return r
	}
	for _, p := range s.Policies.List() {
		r.names = append(r.names, p.Name)
	}
	all := []map[string]any{s.Values.GlobalValues}
	for _, p := range s.Values.Policies {
		for _, res := range p.Resources {
			all = append(all, res.Values)
		}
	}
	for _, values := range all {
		for k := range values {
			r.split = r.split || aboutRequest(k)
		}
	}
	return r
}

// Review is one object to ask about.
type Review struct {
	Object    admission.Object
	Old       admission.Object    // before an UPDATE; nil: none is known
	Operation admission.Operation // empty: CREATE
}

// Review answers what the policies say about an object, which is not changed. Values can make the request differ
// from policy to policy: each policy is then asked about its own.
func (r *Reviewer) Review(ctx context.Context, v Review) []engine.Result {
	if r.Values == nil {
		return r.evaluator.Evaluate(ctx, r.request(v, nil))
	}
	id := admission.IdentityOf(v.Object)
	evaluator := r.evaluator.WithValues(func(policy, rule string) map[string]any {
		values := r.Values.of(policy, id.Name)
		splitRequest(values)
		r.Values.ofRule(values, policy, rule)
		return values
	})
	if !r.split {
		return evaluator.Evaluate(ctx, r.request(v, nil))
	}
	groups := map[string][]string{}
	for _, name := range r.names {
		key, _ := json.Marshal(splitRequest(r.Values.of(name, id.Name))) // decoded JSON can be written again
		groups[string(key)] = append(groups[string(key)], name)
	}
	var out []engine.Result
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		req := r.request(v, splitRequest(r.Values.of(groups[key][0], id.Name)))
		for _, res := range evaluator.Evaluate(ctx, req) {
			if slices.Contains(groups[key], res.Policy.Name) {
				out = append(out, res)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b engine.Result) int {
		return cmp.Compare(slices.Index(r.names, a.Policy.Name), slices.Index(r.names, b.Policy.Name))
	})
	return out
}

// request builds the admission request, with the values that are parts of it.
func (r *Reviewer) request(v Review, values map[string]any) *admission.Request {
	o := v.Object
	for k, value := range values {
		if path, ok := strings.CutPrefix(k, "request.object."); ok {
			if fields := pathOf(path); fields != nil {
				o = runtime.DeepCopyJSON(o)
				_ = unstructured.SetNestedField(o, value, fields...) // a path through a scalar sets nothing, as in Kyverno
			}
		}
	}
	operation := cmp.Or(v.Operation, admission.Create)
	if s, ok := values["request.operation"].(string); ok && v.Operation == "" {
		operation = admission.Operation(s)
	}
	req := &admission.Request{Operation: operation, Object: o, UserInfo: r.User.Info,
		Roles: r.User.Roles, ClusterRoles: r.User.ClusterRoles}
	switch req.Operation {
	case admission.Update:
		req.OldObject = v.Old
		if v.Operation == "" {
			req.OldObject = o // an update by a values file changes nothing, as in Kyverno
		}
	case admission.Delete:
		req.Object, req.OldObject = nil, o
	}
	req.Namespace = r.namespace(admission.IdentityOf(o).Namespace)
	return req
}

// pathOf splits a dotted path; parts with dots stand in double quotes.
func pathOf(path string) []string {
	reader := csv.NewReader(strings.NewReader(path))
	reader.Comma = '.'
	fields, err := reader.Read()
	if err != nil {
		return nil
	}
	return fields
}

// namespace is the Namespace of a name as it is declared, with the labels that the values give it.
func (r *Reviewer) namespace(name string) admission.Object {
	if name == "" {
		return nil
	}
	known := r.AnyNamespace
	labels := map[string]any{}
	out := admission.Object{}
	meta := map[string]any{}
	declare := func(o admission.Object) {
		known = true
		maps.Copy(out, o)
		if m, ok := o["metadata"].(map[string]any); ok {
			maps.Copy(meta, m)
			if l, ok := m["labels"].(map[string]any); ok {
				maps.Copy(labels, l)
			}
		}
	}
	if !r.AnyNamespace {
		labels["kubernetes.io/metadata.name"] = name // which the API server sets
		known = name == "default"                    // which every cluster has
	}
	for _, n := range r.Namespaces {
		if admission.IdentityOf(n).Name == name {
			declare(n)
		}
	}
	if n, ok := r.Cluster.get("", "Namespace", "", name); ok {
		declare(n)
	}
	for _, n := range r.Values.namespaces(name) {
		declare(n)
	}
	if !known {
		return nil
	}
	meta["name"], meta["labels"] = name, labels
	out["apiVersion"], out["kind"], out["metadata"] = "v1", "Namespace", meta
	return out
}

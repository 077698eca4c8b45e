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

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// Setup is what a Reviewer is made of; only Policies is needed.
type Setup struct {
	Policies   *engine.Policies
	Exceptions []*engine.Exception // those that count
	Cluster    *Objects
	Values     *Values
	User       settings.Requester
	Namespaces []admission.Object // Namespaces that are not in Cluster but will be there, too
	// AnyNamespace says that undeclared namespaces exist, without labels. Otherwise, their labels are unknown.
	AnyNamespace bool
}

// Reviewer evaluates policies for one object at a time, with the variables of a values file. It is immutable and safe
// for concurrent use.
type Reviewer struct {
	Setup
	evaluator *engine.Evaluator
	names     []string // of the policies
	split     bool     // values can change the request, by policy
}

// NewReviewer binds policies to the objects of a cluster.
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
	r.names = report.Mapped(s.Policies.List(), func(p engine.PolicyInfo) string { return p.Name })
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

// Review is one object to review.
type Review struct {
	Object    admission.Object
	Old       admission.Object    // before an UPDATE; nil: none is known
	Operation admission.Operation // empty: CREATE
}

// Review returns the results of the policies for an object, which it does not change. If values change the request for
// some policies, each policy is evaluated with its own request.
func (r *Reviewer) Review(ctx context.Context, v Review) []engine.Result {
	out, _ := r.ask(v, func(e *engine.Evaluator, request *admission.Request) ([]engine.Result, []engine.Trace) {
		return e.Evaluate(ctx, request), nil
	})
	return out
}

// Trace is Review with an explanation of each policy and rule.
func (r *Reviewer) Trace(ctx context.Context, v Review) ([]engine.Result, []engine.Trace) {
	return r.ask(v, func(e *engine.Evaluator, request *admission.Request) ([]engine.Result, []engine.Trace) {
		return e.Trace(ctx, request)
	})
}

// asking is how an evaluator is asked about a request.
type asking func(*engine.Evaluator, *admission.Request) ([]engine.Result, []engine.Trace)

func (r *Reviewer) ask(v Review, ask asking) (out []engine.Result, traces []engine.Trace) {
	if r.Values == nil {
		return ask(r.evaluator, r.request(v, nil))
	}
	id := admission.IdentityOf(v.Object)
	evaluator := r.evaluator.WithValues(func(policy, rule string) map[string]any {
		values := r.Values.of(policy, id.Name)
		splitRequest(values)
		r.Values.ofRule(values, policy, rule)
		return values
	})
	if !r.split {
		return ask(evaluator, r.request(v, nil))
	}
	groups := map[string][]string{}
	for _, name := range r.names {
		key, _ := json.Marshal(splitRequest(r.Values.of(name, id.Name))) // decoded JSON can be written again
		groups[string(key)] = append(groups[string(key)], name)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		req := r.request(v, splitRequest(r.Values.of(groups[key][0], id.Name)))
		results, why := ask(evaluator, req)
		other := func(name string) bool { return !slices.Contains(groups[key], name) }
		out = append(out, slices.DeleteFunc(results, func(r engine.Result) bool { return other(r.Policy.Name) })...)
		traces = append(traces, slices.DeleteFunc(why, func(t engine.Trace) bool { return other(t.Policy.Name) })...)
	}
	order := func(a, b engine.PolicyRef) int { return slices.Index(r.names, a.Name) - slices.Index(r.names, b.Name) }
	slices.SortStableFunc(traces, func(a, b engine.Trace) int { return order(a.Policy, b.Policy) })
	slices.SortStableFunc(out, func(a, b engine.Result) int { return order(a.Policy, b.Policy) })
	return out, traces
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
	req := r.User.Request(operation)
	req.Object = o
	switch req.Operation {
	case admission.Update:
		req.OldObject = v.Old
		if v.Operation == "" {
			req.OldObject = o // an update by a values file changes nothing, as in Kyverno
		}
	case admission.Delete:
		req.Object, req.OldObject = nil, o
	}
	r.Values.subresource(req)
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

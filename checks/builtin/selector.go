package builtin

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
)

// selecting are the checked selectors, by group and kind.
var selecting = map[[2]string]struct {
	pointer  string // of the selector
	plain    bool   // a map of labels, not a LabelSelector
	services bool   // it selects Services
}{
	{"", "Service"}:                             {pointer: "/spec/selector", plain: true},
	{"networking.k8s.io", "NetworkPolicy"}:      {pointer: "/spec/podSelector"},
	{"policy", "PodDisruptionBudget"}:           {pointer: "/spec/selector"},
	{"monitoring.coreos.com", "PodMonitor"}:     {pointer: "/spec/selector"},
	{"monitoring.coreos.com", "ServiceMonitor"}: {pointer: "/spec/selector", services: true},
}

// selected is an object that selectors match by its labels.
type selected struct {
	id     admission.Identity
	labels labels.Set
	words  string
}

// badSelectors finds selectors of Services, NetworkPolicies, PodDisruptionBudgets and monitors that match nothing in
// their root although it has an object that they are meant for. That object is in the same namespace and belongs to the
// selector's object; it has the required labels with other values, or lacks one that people write. Selectors without
// such an object are ignored: another root, an operator or a program may create what they match.
func badSelectors(_ context.Context, a *Scope) (list []RootViolation, _ error) {
	var services []selected
	workloads := report.Mapped(podsOf(a.Resources), func(p pods) selected { return selected{p.id, p.labels, p.String()} })
	for _, r := range a.Resources {
		id := admission.IdentityOf(r.Object)
		if mayMakePods(id, r.Object) {
			return nil, nil
		}
		if id.Group == "" && id.Kind == "Service" {
			services = append(services, selected{id, admission.TextsAt(r.Object, "/metadata/labels"), "Service " + id.Name})
		}
	}
	for _, r := range a.Resources {
		id := admission.IdentityOf(r.Object)
		how, ok := selecting[[2]string{id.Group, id.Kind}]
		if !ok || textAt(r.Object, "/spec/type") == "ExternalName" || r.Object["spec"] == nil ||
			jsonpointer.At(r.Object, "/spec/namespaceSelector") != nil {
			continue
		}
		from, what := workloads, "Pod"
		if how.services {
			from, what = services, "Service"
		}
		matching := how.pointer
		if !how.plain {
			matching += "/matchLabels"
		}
		wanted := admission.TextsAt(r.Object, matching)
		if v, ok := missed(id, wanted, expressions(r, how.pointer), from); ok {
			v.Pointer = matching + "/" + jsonpointer.Escape(v.Pointer)
			v.Message = fmt.Sprintf("matches no %s of this root: %s", what, v.Message)
			list = append(list, RootViolation{r, v})
		}
	}
	return list, nil
}

// expressions returns the requirements of a LabelSelector besides matchLabels; nil if one cannot be parsed.
func expressions(r *render.Resource, pointer string) []labels.Requirement {
	list := []labels.Requirement{}
	for _, e := range listAt(r.Object, pointer+"/matchExpressions") {
		op := map[string]selection.Operator{"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists,
			"DoesNotExist": selection.DoesNotExist}[textAt(e, "/operator")]
		values := report.Mapped(anyList(e["values"]), func(v any) string { return fmt.Sprint(v) })
		one, err := labels.NewRequirement(textAt(e, "/key"), op, values)
		if err != nil {
			return nil
		}
		list = append(list, *one)
	}
	return list
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// missed returns which label prevents a selector from matching the object that it is meant for, with the pointer of the
// label's key. ok is false if the selector matches something, or if there is no such object.
func missed(of admission.Identity, wanted labels.Set, more []labels.Requirement, from []selected) (v Violation, ok bool) {
	if len(wanted) == 0 || more == nil {
		return v, false
	}
	var best []string
	var by selected
	for _, s := range from {
		if s.id.Namespace != of.Namespace {
			continue
		}
		if slices.ContainsFunc(more, func(r labels.Requirement) bool { return !r.Matches(s.labels) }) {
			continue
		}
		other, complete := differing(wanted, s.labels)
		if complete && len(other) == 0 {
			return v, false
		}
		if complete && belongs(of, wanted, s) && (best == nil || len(other) < len(best)) {
			best, by = other, s
		}
	}
	if best == nil || slices.ContainsFunc(best, func(key string) bool { return changing(key, wanted[key], by.labels[key]) }) {
		return v, false
	}
	key, is := best[0], "has no label "+best[0]
	if value, ok := by.labels[key]; ok {
		is = fmt.Sprintf("has the label %s: %s, not %s", key, value, wanted[key])
	}
	return Violation{key, fmt.Sprintf("%s %s", by.words, is)}, true
}

// differing lists the labels that are missing or have another value, sorted. complete is false if a missing one may be
// set by a program.
func differing(wanted, has labels.Set) (keys []string, complete bool) {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, ok := has[key]
		if !ok && !written(key) {
			return nil, false
		}
		if !ok || value != wanted[key] {
			keys = append(keys, key)
		}
	}
	return keys, true
}

// written reports whether a label is one that people and charts write, and that no program sets on Pods of other
// programs.
func written(key string) bool {
	return strings.HasPrefix(key, "app.kubernetes.io/") ||
		slices.Contains([]string{"app", "k8s-app", "name", "component", "tier", "release", "chart", "heritage"}, key)
}

// owned are labels that all objects of one application share, and only these.
var owned = []string{"app.kubernetes.io/instance", "release"}

// named are labels that objects of one application often share; a NetworkPolicy may select others by them.
var named = []string{"app", "app.kubernetes.io/name", "k8s-app", "name"}

// belongs reports whether the selector's object is meant for s, by its name or by a shared label. Services are never
// meant for Pods that run to completion.
func belongs(of admission.Identity, wanted labels.Set, s selected) bool {
	service := of.Group+"/"+of.Kind == "/Service"
	if of.Name == s.id.Name {
		return !service || s.id.Group != "batch"
	}
	if of.Kind == "ServiceMonitor" { // a monitor of web may be named web-metrics
		return strings.HasPrefix(of.Name, s.id.Name+"-")
	}
	if !service || s.id.Group == "batch" {
		return false
	}
	return slices.ContainsFunc(slices.Concat(owned, named), func(key string) bool {
		return wanted[key] != "" && wanted[key] == s.labels[key]
	})
}

// running matches labels that programs change at run time, such as who is the leader or which of two is active.
var running = regexp.MustCompile(`(?i)role|leader|active|primary|master|standby|replica|slot|colou?r|state|mode`)

// changing reports whether a label may have another value in the cluster: a program sets it, or Flux substitutes a
// variable.
func changing(key string, values ...string) bool {
	return running.MatchString(key) || slices.ContainsFunc(values, func(v string) bool {
		return running.MatchString(v) || strings.Contains(v, "${")
	})
}

package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// idleRule is the name of the check that idleRules is.
const idleRule = "idle-rule"

// idleRules finds policies and exceptions that can match nothing in any cluster. Reasons are kinds that no version of
// Kubernetes has in a group, filters that contradict each other, and excluding everything that is matched. Rules that
// merely match nothing today are not reported, nor are kinds that compiling the policy reports.
func idleRules(_ context.Context, s Deployed) (list []Violation) {
	o := map[string]any(s.Object)
	id := admission.IdentityOf(s.Object)
	if !engine.IsRule(id.Group, id.Kind) {
		return nil
	}
	for i := range listAt(o, "/spec/rules") {
		at := fmt.Sprintf("/spec/rules/%d", i)
		list = append(list, blocks(o, at+"/match", at+"/exclude")...)
	}
	if id.Group == "kyverno.io" && id.Kind == "PolicyException" {
		list = append(list, blocks(o, "/spec/match", "")...)
	}
	for _, at := range []string{"/spec/matchConstraints", "/spec/matchResources"} {
		list = append(list, constraints(o, at)...)
	}
	return list
}

// gone are kinds that groups of Kubernetes had in earlier versions, or that are not stored.
var gone = []string{"PetSet", "ScheduledJob", "JobTemplate", "Scale", "Eviction", "List", "RollingUpdate"}

// filterAt is a filter of a match or an exclude block, with its pointer.
type filterAt struct {
	at     string
	filter map[string]any
}

// filtersAt lists the filters of a block; all is set if every one of them must match.
func filtersAt(o map[string]any, at string) (list []filterAt, all bool) {
	for _, field := range []string{"any", "all"} {
		for i, f := range listAt(o, at+"/"+field) {
			list = append(list, filterAt{fmt.Sprintf("%s/%s/%d", at, field, i), f})
			all = field == "all"
		}
	}
	if m := mapAt(o, at); list == nil && mapAt(m, "/resources") != nil {
		list = append(list, filterAt{at, m})
	}
	return list, all
}

// blocks checks a match block of Kyverno and the exclude block beside it.
func blocks(o map[string]any, matching, excluding string) (list []Violation) {
	filters, all := filtersAt(o, matching)
	for _, f := range filters {
		list = append(list, f.kinds()...)
		for _, field := range []string{"selector", "namespaceSelector"} {
			list = append(list, contradiction(o, f.at+"/resources/"+field)...)
		}
	}
	for i, a := range filters {
		for _, b := range filters[:i] {
			if field := a.apart(b); all && field != "" {
				list = append(list, Violation{a.at + "/resources/" + field,
					"contradicts another part of match.all: no object matches both, so the rule matches nothing"})
			}
		}
	}
	excluded, allOf := filtersAt(o, excluding)
	if excluding == "" || len(filters) == 0 || len(excluded) == 0 || allOf && len(excluded) > 1 {
		return list
	}
	covered := func(f filterAt) bool {
		return slices.ContainsFunc(excluded, func(x filterAt) bool { return x.covers(f) })
	}
	uncovered := slices.ContainsFunc(filters, func(f filterAt) bool { return !covered(f) })
	if all {
		uncovered = !slices.ContainsFunc(filters, covered)
	}
	if !uncovered {
		list = append(list, Violation{excluding, "excludes everything that the rule matches"})
	}
	return list
}

// kinds lists the kinds of a filter that no version of Kubernetes has in their group.
func (f filterAt) kinds() (list []Violation) {
	for i, v := range texts(f.filter, "/resources/kinds") {
		k, ok := match.ParseKind(v)
		if !ok || k.Group == "*" || strings.ContainsAny(k.Group+k.Kind, "*?{") || !kinds.OfKubernetes(k.Group) ||
			slices.Contains(gone, k.Kind) {
			continue
		}
		if _, known := kinds.Namespaced(k.Group, k.Kind); !known {
			list = append(list, Violation{fmt.Sprintf("%s/resources/kinds/%d", f.at, i), fmt.Sprintf(
				"no version of Kubernetes has the kind %s in the group %q: this matches nothing", k.Kind, k.Group)})
		}
	}
	return list
}

// texts are the texts in a list.
func texts(o map[string]any, pointer string) (list []string) {
	for _, v := range anyList(jsonpointer.At(o, pointer)) {
		text, _ := v.(string)
		list = append(list, text)
	}
	return list
}

// field returns the strings in one field of a filter.
func (f filterAt) field(name string) []string {
	list := texts(f.filter, "/resources/"+name)
	if one := textAt(f.filter, "/resources/name"); name == "names" && one != "" {
		list = append(list, one)
	}
	return list
}

// apart returns the field because of which no object matches both filters; empty if an object may match both.
func (f filterAt) apart(other filterAt) string {
	for _, field := range []string{"kinds", "names", "namespaces"} {
		own, theirs := f.field(field), other.field(field)
		if field == "kinds" {
			own, theirs = bare(own), bare(theirs)
		}
		if len(own) == 0 || len(theirs) == 0 || wildcards(own) || wildcards(theirs) {
			continue
		}
		if !slices.ContainsFunc(own, func(v string) bool { return slices.Contains(theirs, v) }) {
			if field == "names" && textAt(f.filter, "/resources/name") != "" {
				return "name"
			}
			return field
		}
	}
	return ""
}

// bare returns kinds without their groups; nil if one cannot be parsed.
func bare(list []string) (out []string) {
	for _, v := range list {
		k, ok := match.ParseKind(v)
		if !ok {
			return nil
		}
		out = append(out, k.Kind)
	}
	return out
}

func wildcards(list []string) bool {
	return slices.ContainsFunc(list, func(v string) bool { return strings.ContainsAny(v, "*?{!") })
}

// covers reports whether a filter certainly matches everything that the other one matches.
func (f filterAt) covers(other filterAt) bool {
	resources := mapAt(f.filter, "/resources")
	if len(f.filter) != 1 || len(resources) == 0 {
		return false // it depends on the requester
	}
	for field := range resources {
		switch field {
		case "kinds", "operations":
			if !within(other.field(field), f.field(field), func(pattern, v string) bool { return pattern == "*" || pattern == v }) {
				return false
			}
		case "names", "name", "namespaces":
			if field == "name" {
				field = "names"
			}
			if !within(other.field(field), f.field(field), func(p, v string) bool {
				return p == v || !strings.ContainsAny(v, "*?{") && pattern.Wildcard(p, v)
			}) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// within reports whether every value is covered by a pattern. It is false for no values.
func within(values, patterns []string, covers func(pattern, value string) bool) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { return covers(p, v) })
	})
}

// contradiction finds a label that a selector requires in a way that no object can satisfy.
func contradiction(o map[string]any, at string) (list []Violation) {
	wanted := admission.TextsAt(o, at+"/matchLabels")
	expressions := listAt(o, at+"/matchExpressions")
	type need struct {
		in      []string // nil: any
		present bool
	}
	needs := map[string]*need{}
	of := func(key string) *need {
		if needs[key] == nil {
			needs[key] = &need{}
		}
		return needs[key]
	}
	for key, value := range wanted {
		if wildcards([]string{key, value}) {
			return nil
		}
		*of(key) = need{[]string{value}, true}
	}
	for i, e := range expressions {
		key, values := textAt(e, "/key"), texts(e, "/values")
		if wildcards(append(values, key)) {
			return nil
		}
		n, wrong := of(key), false
		switch textAt(e, "/operator") {
		case "In":
			if n.present && n.in != nil {
				values = slices.DeleteFunc(slices.Clone(n.in), func(v string) bool { return !slices.Contains(values, v) })
			}
			n.in, n.present, wrong = values, true, len(values) == 0
		case "Exists":
			n.present = true
		}
		if wrong {
			list = append(list, idleSelector(at, i, key))
		}
	}
	for i, e := range expressions {
		key, values := textAt(e, "/key"), texts(e, "/values")
		n := of(key)
		switch textAt(e, "/operator") {
		case "DoesNotExist":
			if n.present {
				list = append(list, idleSelector(at, i, key))
			}
		case "NotIn":
			if n.present && len(n.in) > 0 && within(n.in, values, func(a, b string) bool { return a == b }) {
				list = append(list, idleSelector(at, i, key))
			}
		}
	}
	return list
}

func idleSelector(at string, i int, key string) Violation {
	return Violation{fmt.Sprintf("%s/matchExpressions/%d", at, i), fmt.Sprintf("contradicts another expression of "+
		"the selector for the label %s: no object satisfies both, so the selector matches nothing", key)}
}

// constraints checks what a policy with expressions, or a binding, matches.
func constraints(o map[string]any, at string) (list []Violation) {
	for _, field := range []string{"objectSelector", "namespaceSelector"} {
		list = append(list, contradiction(o, at+"/"+field)...)
	}
	rules, excluded := listAt(o, at+"/resourceRules"), listAt(o, at+"/excludeResourceRules")
	for i, rule := range rules {
		groups := texts(rule, "/apiGroups")
		if len(groups) == 0 || slices.ContainsFunc(groups, func(g string) bool { return !kinds.OfKubernetes(g) }) {
			continue
		}
		for j, name := range texts(rule, "/resources") {
			plural, _, _ := strings.Cut(name, "/")
			if !strings.Contains(plural, "*") && !kinds.Known(groups, plural) && !slices.ContainsFunc(gone, func(kind string) bool {
				return kinds.Plural(kind) == plural
			}) {
				list = append(list, Violation{fmt.Sprintf("%s/resourceRules/%d/resources/%d", at, i, j), fmt.Sprintf(
					"no version of Kubernetes has the resource %s in the group %q: this matches nothing", plural,
					strings.Join(groups, ", "))})
			}
		}
	}
	covered := func(rule map[string]any) bool {
		return slices.ContainsFunc(excluded, func(x map[string]any) bool { return coversRule(x, rule) })
	}
	if len(rules) > 0 && !slices.ContainsFunc(rules, func(rule map[string]any) bool { return !covered(rule) }) {
		list = append(list, Violation{at + "/excludeResourceRules", "excludes everything that the policy matches"})
	}
	return list
}

// coversRule reports whether a resource rule certainly matches everything that the other one matches.
func coversRule(x, rule map[string]any) bool {
	same := func(p, v string) bool { return p == "*" || p == v }
	for _, field := range []string{"apiGroups", "apiVersions", "operations", "resources"} {
		if !within(texts(rule, "/"+field), texts(x, "/"+field), same) {
			return false
		}
	}
	scope := textAt(x, "/scope")
	return (scope == "" || scope == "*") && (len(texts(x, "/resourceNames")) == 0 ||
		within(texts(rule, "/resourceNames"), texts(x, "/resourceNames"), same))
}

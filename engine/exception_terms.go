package engine

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// SameTerms reports whether two documents of exceptions have the same terms: the same identity, the same requests that
// they let through, and the same time. Other metadata is ignored.
func (d RuleDocument) SameTerms(other RuleDocument) bool {
	return d.Exception && d.Terms == other.Terms && (d.Content == other.Content || !other.void())
}

// void reports whether an exception has errors. It lets nothing through then, so whatever mends it lets more through.
func (d RuleDocument) void() bool {
	_, problems := compileException(d.Document)
	return policy.HasErrors(problems)
}

// Within reports whether an exception lets nothing more through than an earlier version of it did, and not for longer.
// If this cannot be decided from the two texts, it returns false.
func (d RuleDocument) Within(earlier RuleDocument) bool {
	if d.SameTerms(earlier) {
		return true
	}
	if !d.Exception || !earlier.Exception || d.ID() != earlier.ID() {
		return false
	}
	var now, old terms
	if json.Unmarshal([]byte(d.Terms), &now) != nil || json.Unmarshal([]byte(earlier.Terms), &old) != nil {
		return false
	}
	return endsWithin(now, old) && now.within(old) && !earlier.void()
}

// Continues reports whether the time to live of an exception continues from an earlier version of it: it does if the
// terms are the same, or if they are within an earlier version that had a duration, too. A shorter duration does not
// start again.
func (d RuleDocument) Continues(earlier RuleDocument) bool {
	if d.SameTerms(earlier) {
		return true
	}
	var old terms
	return d.Within(earlier) && json.Unmarshal([]byte(earlier.Terms), &old) == nil && old.lasts()
}

// lasts reports whether the terms have a duration as their time to live.
func (t terms) lasts() bool {
	label, _ := t.TTL.(string)
	x := &Exception{}
	return x.ends(label) == nil && x.TTL > 0
}

// terms are the parts of an exception that decide what it lets through, for either group.
type terms struct {
	ID   string
	TTL  any
	Spec struct {
		policy.ExceptionSpec
		policy.CELExceptionSpec
	}
}

func (t terms) within(old terms) bool {
	now, was := t.Spec, old.Spec
	inBackground := func(b *bool) bool { return b == nil || *b }
	return (inBackground(was.Background) || !inBackground(now.Background)) && refsWithin(now.Exceptions, was.Exceptions) &&
		filtersWithin(now.Match, was.Match) && conditionsWithin(now.Conditions, was.Conditions) &&
		controlsWithin(now.PodSecurity, was.PodSecurity) && celWithin(now.CELExceptionSpec, was.CELExceptionSpec)
}

func equal[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// conditionsWithin reports whether conditions hold only where earlier ones held: these are all there still, and others were
// added, not to those of which one is enough. A condition that is taken away may have made the earlier exception void.
func conditionsWithin(now, old any) bool {
	if old == nil || reflect.DeepEqual(now, old) {
		return true
	}
	was, _ := old.(map[string]any)
	is, _ := now.(map[string]any)
	list := func(of map[string]any, key string) []any { l, _ := of[key].([]any); return l }
	for key := range was {
		kept := key == "all" && allAmong(list(was, key), list(is, key), equal)
		if !kept && !reflect.DeepEqual(was[key], is[key]) {
			return false
		}
	}
	return was != nil && is != nil
}

// endsWithin reports whether the new version ends no later than the old one. A duration counts from the first of a
// series of versions that are each within the one before, so a shorter duration ends earlier.
func endsWithin(now, old terms) bool {
	a, b := &Exception{}, &Exception{}
	for _, side := range []struct {
		of terms
		to *Exception
	}{{now, a}, {old, b}} {
		if label, ok := side.of.TTL.(string); side.of.TTL != nil && (!ok || side.to.ends(label) != nil) {
			return false
		}
		if at := side.of.Spec.ExpiresAt; at != "" {
			t, err := time.Parse(time.RFC3339, at)
			if err != nil {
				return false
			}
			side.to.Expires = t
		}
	}
	return (b.TTL == 0 || a.TTL > 0 && a.TTL <= b.TTL) &&
		(b.Expires.IsZero() || !a.Expires.IsZero() && !a.Expires.After(b.Expires))
}

// refsWithin reports whether every rule that is named was named before.
func refsWithin(now, old []policy.ExceptionRef) bool {
	for _, r := range now {
		for _, rule := range r.RuleNames {
			if !slices.ContainsFunc(old, func(was policy.ExceptionRef) bool {
				return was.PolicyName == r.PolicyName && allAmong([]string{rule}, was.RuleNames, named)
			}) {
				return false
			}
		}
	}
	return len(now) > 0 == (len(old) > 0)
}

// filtersWithin reports whether every alternative of a match block is within one of the earlier alternatives. A list all is
// one alternative: each earlier filter of it must have one within it.
func filtersWithin(now, old policy.Match) bool {
	alternatives := func(m policy.Match) (list [][]policy.ResourceFilter) {
		for _, f := range m.Any {
			list = append(list, []policy.ResourceFilter{f})
		}
		if len(m.All) > 0 {
			list = append(list, m.All)
		}
		return list
	}
	return reflect.DeepEqual(now.ResourceFilter, old.ResourceFilter) &&
		allAmong(alternatives(now), alternatives(old), func(now, old []policy.ResourceFilter) bool {
			return allAmong(old, now, func(o, f policy.ResourceFilter) bool { return filterWithin(f, o) })
		})
}

// filterWithin reports whether a filter takes only what an earlier one took. A filter without any field takes nothing.
func filterWithin(now, old policy.ResourceFilter) bool {
	if reflect.DeepEqual(now, old) {
		return true
	}
	if b, _ := match.Compile(policy.Match{ResourceFilter: old}); b.Empty() {
		return false
	}
	a, b := now.Resources, old.Resources
	return listWithin(a.Kinds, b.Kinds, kindWithin) && listWithin(a.Names, b.Names, named) && listWithin(a.Namespaces, b.Namespaces, named) &&
		listWithin(a.Operations, b.Operations, equal) && (b.Name == "" || a.Name != "" && named(a.Name, b.Name)) &&
		labelsWithin(a.Annotations, b.Annotations) && selectorWithin(a.Selector, b.Selector) &&
		selectorWithin(a.NamespaceSelector, b.NamespaceSelector) &&
		listWithin(now.Roles, old.Roles, equal) && listWithin(now.ClusterRoles, old.ClusterRoles, equal) &&
		listWithin(now.Subjects, old.Subjects, equal)
}

// kindWithin compares kinds part by part: Deployment is one of any group and version.
func kindWithin(now, old string) bool {
	a, fine := match.ParseKind(now)
	b, is := match.ParseKind(old)
	return fine && is && named(a.Group, b.Group) && named(a.Version, b.Version) && named(a.Kind, b.Kind) && named(a.SubResource, b.SubResource)
}

// labelsWithin reports whether there is a label within each earlier one.
func labelsWithin(now, old map[string]string) bool {
	for key, value := range old {
		some := false
		for k, v := range now {
			some = some || named(k, key) && named(v, value)
		}
		if !some {
			return false
		}
	}
	return true
}

func selectorWithin(now, old *policy.Selector) bool {
	if old == nil || now == nil {
		return old == nil
	}
	return labelsWithin(now.MatchLabels, old.MatchLabels) &&
		allAmong(old.MatchExpressions, now.MatchExpressions, func(o, r policy.SelectorRequirement) bool {
			switch {
			case o.Key != r.Key || o.Operator != r.Operator:
				return false
			case o.Operator == "NotIn":
				return allAmong(o.Values, r.Values, equal)
			default:
				return allAmong(r.Values, o.Values, equal)
			}
		})
}

// controlsWithin reports whether the controls that are excluded were excluded before, in the same order: it matters where a
// control without images takes violations of containers. Without any control, the rule as a whole is.
func controlsWithin(now, old []policy.PodSecurityControl) bool {
	if len(old) == 0 {
		return true
	}
	next := 0
	for _, c := range now {
		for next < len(old) && !controlWithin(c, old[next]) {
			next++
		}
		if next++; next > len(old) {
			return false
		}
	}
	return len(now) > 0
}

// controlWithin compares controls. One without images is about the pod, and not about all images.
func controlWithin(now, old policy.PodSecurityControl) bool {
	return now.ControlName == old.ControlName && len(now.Images) > 0 == (len(old.Images) > 0) && allAmong(now.Images, old.Images, named) &&
		(old.RestrictedField == "" || now.RestrictedField == old.RestrictedField) && listWithin(now.Values, old.Values, named)
}

// named reports whether a name is the earlier one, or a name or pattern that its wildcards match.
func named(now, old string) bool {
	return now == old || (!strings.Contains(now, "*") || !strings.Contains(old, "?")) && match.AnyWildcard([]string{old}, now)
}

// listWithin reports whether a list of selected values selects no more than before. An empty list selects everything.
func listWithin[T any](now, old []T, within func(now, old T) bool) bool {
	return len(old) == 0 || len(now) > 0 && allAmong(now, old, within)
}

// allAmong reports whether each value is within one of others.
func allAmong[T any](list, others []T, within func(v, other T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool {
		return !slices.ContainsFunc(others, func(other T) bool { return within(v, other) })
	})
}

// celWithin compares the fields that only exceptions of policies.kyverno.io have. All conditions have to hold. An
// exception with neither images nor values turns the whole policy off. How it is reported lets nothing through.
func celWithin(now, old policy.CELExceptionSpec) bool {
	conditions := func(list []policy.MatchCondition) (texts []string) {
		for _, c := range list {
			texts = append(texts, c.Expression)
		}
		return texts
	}
	if !allAmong(conditions(old.MatchConditions), conditions(now.MatchConditions), equal) ||
		!allAmong(now.PolicyRefs, old.PolicyRefs, equal) || len(now.PolicyRefs) > 0 != (len(old.PolicyRefs) > 0) {
		return false
	}
	fine := func(s policy.CELExceptionSpec) bool { return len(s.Images) > 0 || s.HasValues() }
	if !fine(old) {
		return !fine(now) || len(old.PolicyRefs) > 0
	}
	return fine(now) && allAmong(now.Images, old.Images, equal) && (!now.HasValues() || valuesWithin(now.AllowedValues, old.AllowedValues))
}

// valuesWithin reports whether all values were allowed before. Policies read them by their name, so no name may be gone.
func valuesWithin(now, old any) bool {
	is, ok := now.(map[string]any)
	was, did := old.(map[string]any)
	if !ok && !did {
		a, isList := now.([]any)
		b, wasList := old.([]any)
		return isList && wasList && allAmong(a, b, equal)
	}
	return ok && did && len(is) == len(was) && !slices.ContainsFunc(slices.Collect(maps.Keys(was)), func(key string) bool {
		return !valuesWithin(is[key], was[key])
	})
}

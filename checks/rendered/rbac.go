package rendered

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// maxAtoms limits the single rights into which a rule is split.
const maxAtoms = 20_000

// maxWork limits the compared names to find the new rights of one root's roles.
const maxWork = 20_000_000

// maxRules limits the listed rules of one role, maxNames the resources of one rule.
const (
	maxRules = 20
	maxNames = 20
)

// rule is a rule of a Role or ClusterRole (https://kubernetes.io/docs/reference/access-authn-authz/rbac/).
type rule struct{ groups, resources, names, urls, verbs []string }

// right is one right of a rule. An empty Name means all names.
type right struct{ group, resource, name, url, verb string }

// granted returns what a role newly allows; nil if nothing. work is how many names it may still compare. A rule beyond
// that is listed as not compared.
func granted(named report.Resource, was, now map[string]any, work *int) *report.Grant {
	if now == nil || named.Kind != "Role" && named.Kind != "ClusterRole" ||
		!strings.HasPrefix(named.APIVersion, "rbac.authorization.k8s.io/") {
		return nil
	}
	out := &report.Grant{Resource: named, Added: was == nil}
	old := rules(was)
	large := 0
	allowed := func(one right) bool {
		return slices.ContainsFunc(old, func(o rule) bool {
			*work -= o.size()
			return *work > 0 && o.allows(one)
		})
	}
	for _, r := range rules(now) {
		if slices.ContainsFunc(old, func(o rule) bool { return reflect.DeepEqual(o, r) }) {
			continue
		}
		if *work <= 0 {
			large++
			continue
		}
		var fresh []right
		rights, whole := r.rights()
		*work -= len(rights)
		for _, one := range rights {
			if allowed(one) {
				continue
			}
			if len(old) > 0 && *work <= 0 { // it is unknown whether the right is new
				whole = false
				break
			}
			fresh = append(fresh, one)
		}
		if !whole {
			large++
		}
		verbs := func(list []right) string {
			return strings.Join(report.Mapped(list, func(r right) string { return r.verb }), ", ")
		}
		resources := report.Grouped[[]right](fresh, right.on)
		for _, same := range report.Grouped[[][]right](resources, verbs) {
			if len(out.Rules) == maxRules {
				out.LeftOut++
				continue
			}
			names := report.Mapped(same, func(list []right) string { return list[0].on() })
			out.Rules = append(out.Rules, verbs(same[0])+": "+report.Some(names, maxNames))
		}
	}
	if large > 0 {
		out.Rules = append(out.Rules, report.Count(large, "rule that is", "rules that are")+" too large to be compared")
	}
	if len(out.Rules) == 0 {
		return nil
	}
	return out
}

func rules(o map[string]any) (out []rule) {
	list, _ := o["rules"].([]any)
	for _, v := range list {
		one, _ := v.(map[string]any)
		texts := func(key string) (out []string) {
			items, _ := one[key].([]any)
			for _, item := range items {
				if s, ok := item.(string); ok {
					out = append(out, s)
				}
			}
			return out
		}
		out = append(out, rule{texts("apiGroups"), texts("resources"), texts("resourceNames"), texts("nonResourceURLs"),
			texts("verbs")})
	}
	return out
}

// size counts the names in a rule.
func (r rule) size() int {
	return len(r.groups) + len(r.resources) + len(r.names) + len(r.urls) + len(r.verbs)
}

// rights splits a rule, up to maxAtoms rights; whole reports whether these are all of them.
func (r rule) rights() (list []right, whole bool) {
	names := r.names
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range r.verbs {
		for _, url := range r.urls {
			list = append(list, right{url: url, verb: verb})
		}
		for _, group := range r.groups {
			for _, resource := range r.resources {
				for _, name := range names {
					if len(list) >= maxAtoms {
						return list, false
					}
					list = append(list, right{group, resource, name, "", verb})
				}
			}
		}
	}
	return list, true
}

// allows reports whether a rule includes a right.
func (r rule) allows(one right) bool {
	has := func(list []string, s string) bool { return slices.Contains(list, s) || slices.Contains(list, "*") }
	if !has(r.verbs, one.verb) {
		return false
	}
	if one.url != "" {
		return slices.ContainsFunc(r.urls, func(u string) bool {
			start, wild := strings.CutSuffix(u, "*")
			return u == one.url || wild && strings.HasPrefix(one.url, start)
		})
	}
	resource := has(r.resources, one.resource)
	if _, sub, ok := strings.Cut(one.resource, "/"); ok {
		resource = resource || slices.Contains(r.resources, "*/"+sub)
	}
	return resource && has(r.groups, one.group) &&
		(len(r.names) == 0 || one.name != "" && slices.Contains(r.names, one.name))
}

// on returns the target of a right.
func (r right) on() string {
	if r.url != "" {
		return r.url
	}
	on := r.resource
	if r.group != "" {
		on += "." + r.group
	}
	if r.name != "" {
		on += " named " + r.name
	}
	return on
}

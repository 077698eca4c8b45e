// Package kinds has what is known about kinds of objects without asking a cluster: whether they have a namespace, and
// under which plural name the API serves them.
package kinds

import (
	"slices"
	"strings"
	"sync"
)

// Namespaced reports whether objects of a kind have a namespace. known is false for an unknown kind; most of these have
// one.
func Namespaced(group, kind string) (namespaced, known bool) {
	r, ok := all().byKind[name{group, kind}]
	return r.namespaced, ok
}

// ClusterScoped reports whether objects of a kind are known to have no namespace. The group "*" means a kind of
// Kubernetes itself, of any group.
func ClusterScoped(group, kind string) bool {
	if group == "*" {
		return slices.ContainsFunc(kubernetes, func(g apiGroup) bool {
			return slices.Contains(strings.Fields(g.cluster), kind)
		})
	}
	namespaced, known := Namespaced(group, kind)
	return known && !namespaced
}

// Unplaced reports whether an object without a namespace belongs to a namespace that is unknown, by its kind. For an
// unknown kind it may.
func Unplaced(group, kind, namespace string) bool {
	return namespace == "" && !ClusterScoped(group, kind)
}

// HasNamespace reports whether objects of a kind have a namespace. Those of unknown kinds do.
func HasNamespace(apiVersion, kind string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return !ok && !ClusterScoped("", kind) || ok && !ClusterScoped(group, kind)
}

// PluralOf returns the plural name of a kind in the API, or the one that [Plural] guesses for an unknown kind.
func PluralOf(group, kind string) string {
	if r, ok := all().byKind[name{group, kind}]; ok {
		return r.plural
	}
	return Plural(kind)
}

// Plural returns the plural name of a kind as Kubernetes forms the names of its own kinds. Unlike
// meta.UnsafeGuessKindToResource of k8s.io/apimachinery it has the right plural of gateways and switches, since people
// choose English plurals for other kinds.
func Plural(kind string) string {
	s := strings.ToLower(kind)
	switch {
	case s == "" || strings.HasSuffix(s, "endpoints"):
		return s
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"), strings.HasSuffix(s, "sh"):
		return s + "es"
	case strings.HasSuffix(s, "y") && len(s) > 1 && !strings.ContainsRune("aeiou", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

// Kind returns the kind with a plural name, empty for one that is not known.
func Kind(group, plural string) string { return all().byPlural[name{group, plural}] }

// Known reports whether a plural name belongs to a known kind in one of the groups; "*" means any group.
func Known(groups []string, plural string) bool {
	return slices.ContainsFunc(groups, func(group string) bool {
		return Kind(group, plural) != "" || group == "*" && all().plurals[plural]
	})
}

// OfKubernetes reports whether a group belongs to Kubernetes itself, so that nobody else has kinds in it.
func OfKubernetes(group string) bool {
	return slices.ContainsFunc(kubernetes, func(g apiGroup) bool { return g.name == group })
}

// NoVersion reports whether all groups belong to Kubernetes itself and never had a version, which may have wildcards.
func NoVersion(groups []string, version string) bool {
	never := func(group string) bool {
		return slices.ContainsFunc(kubernetes, func(g apiGroup) bool {
			return g.name == group && !slices.Contains(strings.Fields(g.versions), version)
		})
	}
	return len(groups) > 0 && !strings.ContainsAny(version, "*?") &&
		!slices.ContainsFunc(groups, func(group string) bool { return !never(group) })
}

// name is the name of a kind, or its plural, with its group.
type name struct{ group, name string }

type resource struct {
	plural     string
	namespaced bool
}

// index finds kinds by name; it is immutable.
type index struct {
	byKind   map[name]resource
	byPlural map[name]string
	plurals  map[string]bool // of any group
}

var all = sync.OnceValue(func() index {
	out := index{byKind: map[name]resource{}, byPlural: map[name]string{}, plurals: map[string]bool{}}
	add := func(group, kinds string, namespaced bool) {
		for kind := range strings.FieldsSeq(kinds) {
			plural := Plural(kind)
			out.byKind[name{group, kind}] = resource{plural, namespaced}
			out.byPlural[name{group, plural}] = kind
			out.plurals[plural] = true
		}
	}
	for _, list := range [][]apiGroup{kubernetes, custom} {
		for _, g := range list {
			add(g.name, g.namespaced, true)
			add(g.name, g.cluster, false)
		}
	}
	return out
})

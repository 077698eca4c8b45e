package kinds

import (
	"slices"
	"strings"
)

// Misspelled looks at the name of a kind, which may hold wildcards. unknown is set for one that can be no kind, since
// kinds start with a capital letter
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#types-kinds);
// near is the kind of Kubernetes that was likely meant: by plural, letter case or a letter more or less.
func Misspelled(kind string) (near string, unknown bool) {
	known := ofKubernetes()
	if kind == "" || strings.ContainsAny(kind, "*?{ ") || slices.Contains(known, kind) {
		return "", false
	}
	unknown = kind[0] < 'A' || kind[0] > 'Z'
	lower := strings.ToLower(kind)
	for _, k := range known {
		singular := strings.ToLower(k)
		if slices.Contains([]string{singular, Plural(k)}, lower) {
			return k, unknown
		}
	}
	// A kind of another API may have a name that is similar to one of Kubernetes, so only obvious slips count: two
	// letters are swapped, or one is missing or doubled.
	for _, k := range known {
		if len(k) > 5 && slip(lower, strings.ToLower(k)) {
			near = max(near, k)
		}
	}
	return near, unknown
}

// MisspelledPlural reports whether a plural name belongs to no kind and was likely meant as one of Kubernetes (see
// Misspelled).
func MisspelledPlural(plural string) bool {
	if strings.ContainsAny(plural, "*?{ ") || Known([]string{"*"}, plural) {
		return false
	}
	return slices.ContainsFunc(ofKubernetes(), func(kind string) bool { return len(kind) > 5 && slip(plural, Plural(kind)) })
}

// ofKubernetes lists the kinds of Kubernetes itself.
func ofKubernetes() (list []string) {
	for _, g := range kubernetes {
		list = slices.AppendSeq(slices.AppendSeq(list, strings.FieldsSeq(g.namespaced)), strings.FieldsSeq(g.cluster))
	}
	return list
}

// slip reports whether a differs from b by two swapped neighboring letters, or by one missing or additional letter
// inside.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case i == 0:
		return false
	case len(a) == len(b):
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	case len(a)+1 == len(b):
		return (i < len(a) || b[i] == b[i-1]) && a[i:] == b[i+1:]
	}
	return false
}

package match

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
)

// answer is yes, no, or an error that says what is unknown.
type answer struct {
	yes   bool
	needs *admission.NeedsClusterError
}

var (
	yes = answer{yes: true}
	no  = answer{}
)

// role is how a block is used; the three uses differ in details.
type role int

const (
	asMatch     role = iota // an unknown user is not looked at, so that the rule applies
	asExclude               // an unknown user is excluded by nothing
	asException             // like asExclude; a namespace selector does not keep Namespaces out
)

// Matches reports whether a rule with these match and exclude blocks applies to a request. exclude may be nil. The
// error is an *admission.NeedsClusterError if that depends on the labels of a namespace that is not declared.
func Matches(match, exclude *Block, t *Target) (bool, error) {
	m := match.eval(t, asMatch)
	if m.needs == nil && !m.yes {
		return false, nil
	}
	x := no
	if !exclude.Empty() {
		x = exclude.eval(t, asExclude)
	}
	switch {
	case x.needs == nil && x.yes:
		return false, nil
	case m.needs != nil:
		return false, m.needs
	case x.needs != nil:
		return false, x.needs
	}
	return true, nil
}

// Covers reports whether the match block of an exception matches a request. A block without any or all matches nothing.
// The error is as in [Matches].
func (b *Block) Covers(t *Target) (bool, error) {
	if b.Empty() {
		return false, nil
	}
	a := b.eval(t, asException)
	if a.needs != nil {
		return false, a.needs
	}
	return a.yes, nil
}

func (b *Block) eval(t *Target, as role) answer {
	if len(b.any) > 0 {
		out := no
		for i := range b.any {
			switch a := b.any[i].eval(t, as); {
			case a.needs != nil:
				out = a
			case a.yes:
				return yes
			}
		}
		return out
	}
	out := answer{yes: len(b.all) > 0}
	for i := range b.all {
		switch a := b.all[i].eval(t, as); {
		case a.needs != nil:
			out = a
		case !a.yes:
			return no
		}
	}
	return out
}

func (f *filter) eval(t *Target, as role) answer {
	user := f.hasUser() && (as != asMatch || !t.anonymous() || f.user(t))
	if !user && !f.hasResources() {
		return no
	}
	if len(f.operations) > 0 && !slices.Contains(f.operations, t.Operation) {
		return no
	}
	if len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds,
		func(k Kind) bool { return k.matches(t.Identity, t.SubResource) }) {
		return no
	}
	if f.name != "" && !wild(f.name, t.Identity.Name) || !AnyWildcard(f.names, t.Identity.Name) {
		return no
	}
	in, known := t.InNamespace(f.namespaces)
	if known && !in {
		return no
	}
	for _, p := range f.annotations {
		if !anyPair(p, t.Annotations) {
			return no
		}
	}
	if f.selector != nil && !f.selector.Matches(t.Labels) {
		return no
	}
	if user && !f.user(t) {
		return no
	}
	if !known {
		return answer{needs: admission.NeedsNamespace(t.Identity)}
	}
	if f.namespaceSelector != nil {
		return f.namespace(t, as)
	}
	return yes
}

func (f *filter) namespace(t *Target, as role) answer {
	if t.Identity.Kind == "Namespace" {
		return answer{yes: as == asException}
	}
	selected, known := t.SelectsNamespace(f.namespaceSelector)
	switch {
	case !known && t.Unplaced:
		return answer{needs: admission.NeedsNamespace(t.Identity)}
	case !known:
		return answer{needs: &admission.NeedsClusterError{What: "the labels of Namespace " + t.Identity.Namespace}}
	}
	return answer{yes: selected}
}

// user reports whether the user of the request is one of those named. One entry of a list is enough, and all lists that
// are present must match.
func (f *filter) user(t *Target) bool {
	overlap := func(want, have []string) bool {
		return len(want) == 0 || slices.ContainsFunc(want, func(w string) bool {
			return slices.ContainsFunc(have, func(h string) bool { return wild(w, h) })
		})
	}
	if !overlap(f.roles, t.Roles) || !overlap(f.clusterRoles, t.ClusterRoles) {
		return false
	}
	for _, s := range f.subjects {
		switch s.Kind {
		case "ServiceAccount":
			if wild("system:serviceaccount:"+s.Namespace+":"+s.Name, t.User.Username) {
				return true
			}
		case "Group":
			if slices.ContainsFunc(t.User.Groups, func(g string) bool { return wild(s.Name, g) }) {
				return true
			}
		case "User":
			if wild(s.Name, t.User.Username) {
				return true
			}
		}
	}
	return len(f.subjects) == 0
}

// SelectsNamespace reports whether a selector matches the namespace of the request. The error says if this is unknown,
// because the namespace is not declared or is itself unknown.
func (t *Target) SelectsNamespace(s *Selector) (selected, known bool) {
	return s.Matches(t.NamespaceLabels), t.NamespaceKnown || s.everything() || !t.Unplaced && s.only(nameLabel)
}

// InNamespace reports whether the namespace of the request matches one of the patterns. A Namespace counts as being in
// itself. The result is unknown for an object whose namespace is unknown.
func (t *Target) InNamespace(patterns []string) (in, known bool) {
	namespace := t.Identity.Namespace
	if t.Identity.Kind == "Namespace" {
		namespace = t.Identity.Name
	}
	in = AnyWildcard(patterns, namespace)
	return in, in || !t.Unplaced
}

// AnyWildcard reports whether s matches one of the patterns, or there are no patterns.
func AnyWildcard(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return wild(p, s) })
}

package match

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
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
	matched, needs := match.eval(t, asMatch)
	if needs == nil && !matched {
		return false, nil
	}
	excluded, unknown := false, error(nil)
	if !exclude.Empty() {
		excluded, unknown = exclude.eval(t, asExclude)
	}
	if unknown == nil && excluded {
		return false, nil
	}
	err := cmp.Or(needs, unknown)
	return err == nil, err
}

// Covers reports whether the match block of an exception matches a request. A block without any or all matches nothing.
// The error is as in [Matches].
func (b *Block) Covers(t *Target) (bool, error) {
	if b.Empty() {
		return false, nil
	}
	return b.eval(t, asException)
}

func (b *Block) eval(t *Target, as role) (matched bool, needs error) {
	if len(b.any) > 0 {
		for i := range b.any {
			switch yes, err := b.any[i].eval(t, as, nil); {
			case err != nil:
				needs = err
			case yes:
				return true, nil
			}
		}
		return false, needs
	}
	for i := range b.all {
		switch yes, err := b.all[i].eval(t, as, nil); {
		case err != nil:
			needs = err
		case !yes:
			return false, nil
		}
	}
	return len(b.all) > 0 && needs == nil, needs
}

// misses collects the conditions of a filter that a request does not fulfill, in words. A nil one collects nothing.
type misses []string

// goOn reports whether the other conditions of a filter matter: one holds, or those that do not are collected.
func (m *misses) goOn(holds bool, words func() string) bool {
	if holds || m == nil {
		return holds
	}
	*m = append(*m, words())
	return true
}

// eval reports whether the filter matches a request. needs is set if that is not known.
func (f *filter) eval(t *Target, as role, not *misses) (matched bool, needs error) {
	user := f.SelectsUsers() && (as != asMatch || !t.anonymous() || f.user(t))
	name, namespace := t.Identity.Name, t.namespace()
	in, known := true, true
	fits := not.goOn(user || f.hasResources(), func() string {
		return "it names no resources, and the requesting user is not given"
	}) && not.goOn(len(f.operations) == 0 || slices.Contains(f.operations, t.Operation), func() string {
		return fmt.Sprintf("operation %s is not %s", t.Operation, named(f.operations))
	}) && not.goOn(len(f.kinds) == 0 || slices.ContainsFunc(f.kinds, t.is), func() string {
		what := t.Identity.APIVersion() + "/" + t.Identity.Kind
		if t.SubResource != "" {
			what += "/" + t.SubResource
		}
		return fmt.Sprintf("kind %s is not %s", what, named(f.kinds))
	}) && not.goOn(f.name == "" || wild(f.name, name), func() string {
		return fmt.Sprintf("name %s is not %s", name, f.name)
	}) && not.goOn(AnyWildcard(f.names, name), func() string {
		return fmt.Sprintf("name %s is not %s", name, named(f.names))
	})
	if fits {
		in, known = t.InNamespace(f.namespaces)
	}
	fits = fits && not.goOn(in || !known, func() string {
		if namespace == "" {
			return "it is in no namespace, and not in " + named(f.namespaces)
		}
		return fmt.Sprintf("namespace %s is not %s", namespace, named(f.namespaces))
	})
	for i := 0; fits && i < len(f.annotations); i++ {
		p := f.annotations[i]
		fits = not.goOn(anyPair(p, t.Annotations), func() string { return fmt.Sprintf("no annotation is %s: %s", p.key, p.value) })
	}
	fits = fits && not.goOn(f.selector == nil || f.selector.Matches(t.Labels), func() string {
		return fmt.Sprintf("its labels are not %s", f.selector)
	}) && not.goOn(!user || f.user(t), func() string {
		who := "an unknown user"
		if t.UserInfo.Username != "" {
			who = "user " + t.UserInfo.Username
		}
		return fmt.Sprintf("%s is not %s", who, f.userNames())
	})
	switch {
	case !fits || not != nil && len(*not) > 0:
		return false, nil
	case !known:
		return false, admission.NeedsNamespace(t.Identity)
	case f.namespaceSelector == nil:
		return true, nil
	case t.Identity.Kind == "Namespace":
		not.goOn(as == asException, func() string { return "a namespaceSelector does not match objects of kind Namespace" })
		return as == asException, nil
	}
	selected, known := t.SelectsNamespace(f.namespaceSelector)
	switch {
	case !known && t.Unplaced:
		return false, admission.NeedsNamespace(t.Identity)
	case !known:
		return false, &admission.NeedsClusterError{What: "the labels of Namespace " + t.Identity.Namespace}
	}
	not.goOn(selected, func() string {
		return fmt.Sprintf("the labels of namespace %s are not %s", t.Identity.Namespace, f.namespaceSelector)
	})
	return selected, nil
}

// user reports whether the user of the request is one of those named. One entry of a list is enough, and all lists that
// are present must match.
func (f *filter) user(t *Target) bool {
	overlap := func(want, have []string) bool {
		return len(want) == 0 || slices.ContainsFunc(want, func(w string) bool {
			return slices.Contains(have, w)
		})
	}
	if !overlap(f.Roles, t.Roles) || !overlap(f.ClusterRoles, t.ClusterRoles) {
		return false
	}
	for _, s := range f.Subjects {
		switch s.Kind {
		case "ServiceAccount":
			if wild("system:serviceaccount:"+s.Namespace+":"+s.Name, t.UserInfo.Username) {
				return true
			}
		case "Group":
			if slices.ContainsFunc(t.UserInfo.Groups, func(g string) bool { return wild(s.Name, g) }) {
				return true
			}
		case "User":
			if wild(s.Name, t.UserInfo.Username) {
				return true
			}
		}
	}
	return len(f.Subjects) == 0
}

// SelectsNamespace reports whether a selector matches the namespace of the request. The error says if this is unknown,
// because the namespace is not declared or is itself unknown.
func (t *Target) SelectsNamespace(s *Selector) (selected, known bool) {
	return s.Matches(t.NamespaceLabels), t.NamespaceKnown || s.everything() || !t.Unplaced && s.only(nameLabel)
}

// InNamespace reports whether the namespace of the request matches one of the patterns. A Namespace counts as being in
// itself. The result is unknown for an object whose namespace is unknown.
func (t *Target) InNamespace(patterns []string) (in, known bool) {
	in = AnyWildcard(patterns, t.namespace())
	return in, in || !t.Unplaced
}

func (t *Target) namespace() string {
	if t.Identity.Kind == "Namespace" {
		return t.Identity.Name
	}
	return t.Identity.Namespace
}

// AnyWildcard reports whether s matches one of the patterns, or there are no patterns.
func AnyWildcard(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return wild(p, s) })
}

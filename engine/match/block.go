package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Block is a compiled match or exclude block, or the match block of an exception. It is immutable.
type Block struct {
	any, all []filter
	empty    bool
}

type filter struct {
	policy.UserInfo
	kinds             []Kind
	names             []string // name and names are two lists: both must match
	name              string
	namespaces        []string
	annotations       []pair
	selector          *Selector
	namespaceSelector *Selector
	operations        []admission.Operation
}

// Compile compiles a block, and says all that is wrong with it.
func Compile(m policy.Match) (*Block, []*InvalidError) {
	b := &Block{}
	var problems []*InvalidError
	list := func(name string, in []policy.ResourceFilter) (out []filter) {
		for i, f := range in {
			c, errs := compileFilter(f)
			for _, e := range errs {
				problems = append(problems, &InvalidError{fmt.Sprintf("%s/%d/%s", name, i, e.Field), e.Message, e.Warning})
			}
			out = append(out, c)
		}
		return out
	}
	b.any, b.all = list("any", m.Any), list("all", m.All)
	direct, errs := compileFilter(m.ResourceFilter)
	problems = append(problems, errs...)
	switch {
	case len(b.any) > 0 && len(b.all) > 0:
		problems = append(problems, invalid("all", "any and all are both set: keep one of them"))
	case len(b.any)+len(b.all) > 0 && !direct.empty():
		problems = append(problems, invalid("resources",
			"resources or user info is set next to any or all, where it has no effect: move it into the list"))
	}
	if len(b.any) == 0 && len(b.all) == 0 {
		b.any = []filter{direct}
		b.empty = direct.empty()
	}
	return b, problems
}

// Empty reports whether the block has no filters.
func (b *Block) Empty() bool { return b == nil || b.empty }

// IsForCreations reports whether the block matches creations and no updates.
func (b *Block) IsForCreations() bool {
	only := func(f filter) bool {
		return slices.Contains(f.operations, admission.Create) && !slices.Contains(f.operations, admission.Update)
	}
	return slices.ContainsFunc(b.all, only) || len(b.any) > 0 && !slices.ContainsFunc(b.any, func(f filter) bool { return !only(f) })
}

func compileFilter(f policy.ResourceFilter) (filter, []*InvalidError) {
	var problems []*InvalidError
	bad := func(field, format string, args ...any) {
		problems = append(problems, invalid(field, format, args...))
	}
	r := f.Resources
	out := filter{UserInfo: f.UserInfo, name: r.Name, names: r.Names, namespaces: r.Namespaces}
	for i, k := range r.Kinds {
		kind, ok := ParseKind(k)
		if !ok {
			bad(fmt.Sprintf("resources/kinds/%d", i),
				"%q is not a kind: write Kind, version/Kind, group/version/Kind or one of them with /subresource", k)
			continue
		}
		out.kinds = append(out.kinds, kind)
	}
	for _, o := range r.Operations {
		out.operations = append(out.operations, admission.Operation(o))
	}
	for k, v := range r.Annotations {
		out.annotations = append(out.annotations, pair{k, v})
	}
	slices.SortFunc(out.annotations, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	selector := func(field string, in *policy.Selector) *Selector {
		if in == nil {
			return nil
		}
		c, wrong := CompileSelector(in)
		if wrong != nil {
			bad("resources/"+field+"/"+wrong.Field, "%s", wrong.Message)
		}
		return c
	}
	out.selector = selector("selector", r.Selector)
	out.namespaceSelector = selector("namespaceSelector", r.NamespaceSelector)
	for _, roles := range []struct {
		field string
		names []string
	}{{"roles", f.Roles}, {"clusterRoles", f.ClusterRoles}} {
		for i, name := range roles.names {
			if strings.ContainsAny(name, "*?") {
				bad(fmt.Sprintf("%s/%d", roles.field, i), "roles are compared without wildcards, so this matches no role: name the role")
				problems[len(problems)-1].Warning = true
			}
		}
	}
	for i, s := range f.Subjects {
		at := fmt.Sprintf("subjects/%d/", i)
		if !slices.Contains([]string{"User", "Group", "ServiceAccount"}, s.Kind) {
			bad(at+"kind", "unknown kind of subject %q: use User, Group or ServiceAccount", s.Kind)
		}
		if s.Name == "" {
			bad(at+"name", "the subject has no name: add the name of the user, group or ServiceAccount")
		}
		if s.Kind == "ServiceAccount" && s.Namespace == "" {
			// No user has such a name, so the subject matches nobody; older versions of Kyverno accepted it.
			bad(at+"namespace", "the ServiceAccount has no namespace, so it matches no account: add the namespace")
			problems[len(problems)-1].Warning = true
		}
	}
	return out, problems
}

func (f *filter) hasResources() bool {
	return len(f.kinds) > 0 || len(f.names) > 0 || f.name != "" || len(f.namespaces) > 0 || len(f.annotations) > 0 ||
		f.selector != nil || f.namespaceSelector != nil || len(f.operations) > 0
}

func (f *filter) empty() bool { return !f.SelectsUsers() && !f.hasResources() }

// Kinds lists the kinds of requests that can match, nil for any.
func (b *Block) Kinds() []Kind {
	var kinds []Kind
	add := func(f *filter) bool {
		for _, k := range f.kinds {
			if strings.ContainsAny(k.Kind, "*?") {
				return false
			}
			kinds = append(kinds, k)
		}
		return len(f.kinds) > 0
	}
	if len(b.any) > 0 {
		for i := range b.any {
			if !add(&b.any[i]) {
				return nil
			}
		}
		return kinds
	}
	// All filters must match, so the kinds of the first one that names kinds are the only possible ones.
	for i := range b.all {
		kinds = nil
		if add(&b.all[i]) {
			return kinds
		}
	}
	return nil
}

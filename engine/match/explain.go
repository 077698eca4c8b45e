package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
)

// Explain returns for each filter of the blocks whether it matches a request, and if not, why. exclude may be nil.
func Explain(match, exclude *Block, t *Target) []explain.Step {
	steps := match.explain(t, asMatch, explain.Match)
	if !exclude.Empty() {
		steps = append(steps, exclude.explain(t, asExclude, explain.Exclude)...)
	}
	return steps
}

// Explain returns for each filter of an exception's block whether it matches a request.
func (b *Block) Explain(t *Target) []explain.Step {
	if b.Empty() {
		return []explain.Step{{Part: explain.Exception, Words: "its match block is empty"}}
	}
	return b.explain(t, asException, explain.Exception)
}

func (b *Block) explain(t *Target, as role, part explain.Part) (out []explain.Step) {
	list, name := b.any, "/any/"
	if len(b.any) == 0 {
		list, name = b.all, "/all/"
	}
	for i := range list {
		f := &list[i]
		step := explain.Step{Part: part, At: fmt.Sprint(name, i)}
		if len(list) == 1 && len(b.all) == 0 {
			step.At = ""
		}
		a := f.eval(t, as)
		step.Holds = a.yes && a.needs == nil
		misses := f.misses(t, as)
		switch {
		case a.needs != nil:
			step.Err = a.needs
			step.Words = "not known"
		case step.Holds:
			step.Words = f.asks(t, as)
		default:
			step.Words = strings.Join(misses, "; ")
		}
		out = append(out, step)
	}
	return out
}

// named returns a list of names for a sentence.
func named(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return "one of " + strings.Join(list, ", ")
}

// asks returns the conditions of the filter that a request fulfills.
func (f *filter) asks(t *Target, as role) string {
	var parts []string
	for _, k := range f.kinds {
		if k.matches(t.Identity, t.SubResource) {
			parts = append(parts, "kind "+k.String())
			break
		}
	}
	if f.name != "" {
		parts = append(parts, "name "+f.name)
	}
	if len(f.names) > 0 {
		parts = append(parts, "name "+named(f.names))
	}
	if len(f.namespaces) > 0 {
		parts = append(parts, "namespace "+named(f.namespaces))
	}
	if len(f.operations) > 0 {
		parts = append(parts, "operation "+string(t.Operation))
	}
	for _, p := range f.annotations {
		parts = append(parts, "annotation "+p.key)
	}
	if f.selector != nil {
		parts = append(parts, "labels "+f.selector.String())
	}
	if f.namespaceSelector != nil {
		parts = append(parts, "namespace with labels "+f.namespaceSelector.String())
	}
	if f.hasUser() {
		if as == asMatch && t.anonymous() && !f.user(t) {
			parts = append(parts, "any user, since the requesting user is not given")
		} else {
			parts = append(parts, "user "+t.User.Username)
		}
	}
	return strings.Join(parts, "; ")
}

// misses returns the conditions of the filter that a request does not fulfill, in the order of eval: none if it
// matches, or if that is unknown.
func (f *filter) misses(t *Target, as role) (out []string) {
	miss := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	user := f.hasUser() && (as != asMatch || !t.anonymous() || f.user(t))
	if !user && !f.hasResources() {
		miss("it names no resources, and the requesting user is not given")
	}
	if len(f.operations) > 0 && !slices.Contains(f.operations, t.Operation) {
		var names []string
		for _, o := range f.operations {
			names = append(names, string(o))
		}
		miss("operation %s is not %s", t.Operation, named(names))
	}
	fits := func(k Kind) bool { return k.matches(t.Identity, t.SubResource) }
	if len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds, fits) {
		var names []string
		for _, k := range f.kinds {
			names = append(names, k.String())
		}
		what := t.Identity.APIVersion() + "/" + t.Identity.Kind
		if t.SubResource != "" {
			what += "/" + t.SubResource
		}
		miss("kind %s is not %s", what, named(names))
	}
	if f.name != "" && !wild(f.name, t.Identity.Name) {
		miss("name %s is not %s", t.Identity.Name, f.name)
	}
	if !AnyWildcard(f.names, t.Identity.Name) {
		miss("name %s is not %s", t.Identity.Name, named(f.names))
	}
	if in, known := t.InNamespace(f.namespaces); known && !in {
		namespace := t.Identity.Namespace
		if t.Identity.Kind == "Namespace" {
			namespace = t.Identity.Name
		}
		if namespace == "" {
			miss("it is in no namespace, and not in %s", named(f.namespaces))
		} else {
			miss("namespace %s is not %s", namespace, named(f.namespaces))
		}
	}
	for _, p := range f.annotations {
		if !anyPair(p, t.Annotations) {
			miss("no annotation is %s: %s", p.key, p.value)
		}
	}
	if f.selector != nil && !f.selector.Matches(t.Labels) {
		miss("its labels are not %s", f.selector)
	}
	if user && !f.user(t) {
		who := "an unknown user"
		if t.User.Username != "" {
			who = "user " + t.User.Username
		}
		miss("%s is not %s", who, f.userNames())
	}
	if len(out) > 0 || f.namespaceSelector == nil {
		return out
	}
	if a := f.namespace(t, as); !a.yes && a.needs == nil {
		switch {
		case t.Identity.Kind == "Namespace":
			miss("a namespaceSelector does not match objects of kind Namespace")
		default:
			miss("the labels of namespace %s are not %s", t.Identity.Namespace, f.namespaceSelector)
		}
	}
	return out
}

// userNames lists the users, groups and roles that the filter names.
func (f *filter) userNames() string {
	var names []string
	for _, s := range f.subjects {
		name := s.Name
		if s.Namespace != "" {
			name = s.Namespace + "/" + name
		}
		names = append(names, s.Kind+" "+name)
	}
	for _, r := range f.roles {
		names = append(names, "role "+r)
	}
	for _, r := range f.clusterRoles {
		names = append(names, "cluster role "+r)
	}
	return named(names)
}

// String returns the kind as policies write it.
func (k Kind) String() string {
	out := k.Kind
	if k.Version != "*" || k.Group != "*" {
		out = k.Version + "/" + out
	}
	if k.Group != "*" {
		out = k.Group + "/" + out
	}
	if k.SubResource != "" {
		out += "/" + k.SubResource
	}
	return out
}

// String returns the selector's conditions, as kubectl writes them.
func (s *Selector) String() string {
	var parts []string
	for _, p := range s.labels {
		parts = append(parts, p.key+"="+p.value)
	}
	for _, r := range s.requirements {
		switch r.Operator {
		case "In", "NotIn":
			parts = append(parts, r.Key+" "+strings.ToLower(string(r.Operator))+" ("+strings.Join(r.Values, ",")+")")
		case "Exists":
			parts = append(parts, r.Key)
		default:
			parts = append(parts, "!"+r.Key)
		}
	}
	return strings.Join(parts, ",")
}

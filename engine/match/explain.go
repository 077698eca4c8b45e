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
		not := misses{}
		step.Holds, step.Err = f.eval(t, as, &not)
		switch {
		case step.Err != nil:
			step.Words = "not known"
		case step.Holds:
			step.Words = f.asks(t, as)
		default:
			step.Words = strings.Join(not, "; ")
		}
		out = append(out, step)
	}
	return out
}

// named returns a list of names for a sentence.
func named[T any](list []T) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = fmt.Sprint(v)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// asks returns the conditions of the filter that a request fulfills.
func (f *filter) asks(t *Target, as role) string {
	var parts []string
	if i := slices.IndexFunc(f.kinds, t.is); i >= 0 {
		parts = append(parts, "kind "+f.kinds[i].String())
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
	if f.SelectsUsers() {
		if as == asMatch && t.anonymous() && !f.user(t) {
			parts = append(parts, "any user, since the requesting user is not given")
		} else {
			parts = append(parts, "user "+t.UserInfo.Username)
		}
	}
	return strings.Join(parts, "; ")
}

// userNames lists the users, groups and roles that the filter names.
func (f *filter) userNames() string {
	var names []string
	for _, s := range f.Subjects {
		name := s.Name
		if s.Namespace != "" {
			name = s.Namespace + "/" + name
		}
		names = append(names, s.Kind+" "+name)
	}
	for _, r := range f.Roles {
		names = append(names, "role "+r)
	}
	for _, r := range f.ClusterRoles {
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

package engine

import (
	"cmp"
	"slices"

	"github.com/lintel-bot/lintel/engine/policy"
)

// CompilePolicies reads and compiles all policies in the files and ignores documents of other kinds. It returns every
// problem of every file at once. A policy is not in the set if one of its problems is an error. The set is never nil.
func CompilePolicies(sources []policy.Source, o Options) (*Policies, []policy.Problem) {
	out := &Policies{options: o, byRef: map[PolicyRef]compiled{}, about: map[PolicyRef]About{}}
	var problems []policy.Problem
	bound := bindings{only: o.Bound}
	type item struct {
		doc  policy.Document
		role *role
	}
	var items []item
	for _, s := range sources {
		docs, bad := policy.Documents(s)
		problems = append(problems, bad...)
		for _, d := range docs {
			r, bad := roleOf(d)
			if bad != nil {
				problems = append(problems, *bad)
			}
			switch {
			case r == nil:
			case r.clusterOnly:
				problems = append(problems, outdated(d)...)
				out.unsupported = append(out.unsupported, d.Warning("/kind", "%s %s is not evaluated before merge",
					d.Kind, d.Name).As(policy.NotEvaluated))
			case r.bind != nil:
				problems = append(problems, r.bind(d, &bound)...)
			case r.compile != nil:
				items = append(items, item{d, r})
			}
		}
	}
	seen := map[string]policy.Document{}
	for _, it := range items {
		d := it.doc
		key := d.APIVersion + " " + d.Kind + " " + d.Namespace + " " + d.Name
		if d.Name == "" {
			problems = append(problems, d.Problem("/metadata", "the policy has no metadata.name: add one"))
		} else if first, twice := seen[key]; twice {
			problems = append(problems, d.Warning("/metadata/name",
				"%s %s is also defined at %s:%d: both are evaluated, so remove one",
				d.Kind, d.Name, first.Path, first.Line).As(
				"policies are defined more than once: all are evaluated, so remove the duplicates"))
		} else {
			seen[key] = d
		}
		g, unsupported, bad := it.role.compile(d, &bound)
		bad = append(bad, outdated(d)...)
		problems = append(problems, bad...)
		if policy.HasErrors(bad) {
			continue
		}
		out.unsupported = append(out.unsupported, unsupported...)
		if g != nil && d.Name != "" {
			out.list = append(out.list, g)
			out.byRef[g.reference()] = g
			out.about[g.reference()] = aboutOf(d)
		}
	}
	return out, sorted(problems)
}

// sorted sorts problems by file and line and removes duplicates.
func sorted(problems []policy.Problem) []policy.Problem {
	slices.SortStableFunc(problems, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// annotated returns a function that returns the values of Kyverno's annotations of a policy.
func annotated(d policy.Document) func(name string) string {
	var annotations map[string]any
	_ = policy.DecodeAt(d, "/metadata/annotations", &annotations) // reported where the document is compiled
	return func(name string) string {
		text, _ := annotations["policies.kyverno.io/"+name].(string)
		return text
	}
}

func aboutOf(d policy.Document) About {
	says := annotated(d)
	return About{Title: says("title"), Description: says("description"), Category: says("category")}
}

func referenceTo(d policy.Document) PolicyRef {
	says := annotated(d)
	return PolicyRef{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Path: d.Path,
		Line: d.Line, Inherited: d.Inherited, Severity: says("severity"), Unscored: says("scored") == "false",
		Category: says("category")}
}

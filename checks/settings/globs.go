package settings

import (
	"cmp"
	"slices"
	"strings"
)

// Names is the kind of things among which a glob of the settings selects.
type Names string

// The kinds of things.
const (
	NamesPolicies   Names = "policy"
	NamesExceptions Names = "exception"
	NamesContext    Names = "file"
	NamesRoots      Names = "root"
	NamesCharts     Names = "chart"
	NamesExcluded   Names = "folder"
	NamesClusters   Names = "root, or file of Argo CD and Flux objects,"
)

// Glob is a file, a folder or a glob that the settings name.
type Glob struct {
	Names Names
	Field string // as written in the settings: "clusters.production.roots"
	Text  string
	Line  int // in the settings; 0: unknown
}

// Globs lists the globs of the settings for files in the repository.
func (s *Settings) Globs() (list []Glob) {
	s.eachGlob(func(g Glob, _ []string) { list = append(list, g) })
	return list
}

// PolicyGlobs lists the globs for policies, of the selected cluster (see In).
func (s *Settings) PolicyGlobs() []Glob {
	field := strings.Join(s.policiesField(), ".")
	return slices.DeleteFunc(s.Globs(), func(g Glob) bool { return g.Field != field })
}

// policiesField returns the field with the policies of the selected cluster (see In).
func (s *Settings) policiesField() []string {
	if s.Clusters[s.cluster].Policies != nil {
		return []string{"clusters", s.cluster, "policies"}
	}
	return []string{"policies"}
}

func (s *Settings) eachGlob(visit func(g Glob, keys []string)) {
	add := func(names Names, globs []string, keys ...string) {
		field := strings.Join(keys, ".")
		for _, text := range globs {
			visit(Glob{names, field, text, s.line(text, keys...)}, keys)
		}
	}
	top := cmp.Or(s.whole, s)
	add(NamesPolicies, top.Policies.Paths(), "policies")
	add(NamesExceptions, top.Exceptions, "exceptions")
	add(NamesContext, top.Context, "context")
	add(NamesRoots, top.Roots.Include, "roots", "include")
	add(NamesExcluded, top.Roots.Exclude, "roots", "exclude")
	for _, c := range top.Charts {
		add(NamesCharts, []string{c.Path}, "charts")
	}
	for _, name := range s.ClusterNames() {
		c := s.Clusters[name]
		add(NamesPolicies, c.Policies.Paths(), "clusters", name, "policies")
		add(NamesExceptions, c.Exceptions, "clusters", name, "exceptions")
		add(NamesContext, c.Context, "clusters", name, "context")
		add(NamesClusters, c.Roots, "clusters", name, "roots")
	}
}

package settings

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cluster is one of the clusters that a repository holds. What is given is in place of the top level's.
type Cluster struct {
	// Roots are globs over root paths, and over the files of the objects of Argo CD and Flux: what these deploy
	// belongs to the cluster as well.
	Roots      []string `yaml:"roots"`
	Policies   []string `yaml:"policies"`
	Exceptions []string `yaml:"exceptions"`
	Context    []string `yaml:"context"`
	// What charts are to be rendered for: accepted, and of no effect as long as charts are not rendered.
	Kubernetes  string   `yaml:"kubernetes"`
	APIVersions []string `yaml:"apiVersions"`
}

// ClusterNames lists the clusters, sorted.
func (s *Settings) ClusterNames() []string { return slices.Sorted(maps.Keys(s.Clusters)) }

// In returns the settings as one cluster has them; those of the top level for a name that is not one of a cluster.
func (s *Settings) In(cluster string) *Settings {
	c := s.Clusters[cluster]
	own := *s
	own.elsewhere, own.cluster, own.whole = nil, cluster, s
	for name, other := range s.Clusters {
		if name != cluster {
			own.elsewhere = append(append(own.elsewhere, other.Policies...), other.Exceptions...)
		}
	}
	for _, list := range []struct {
		of   *[]string
		have []string
	}{{&own.Policies, c.Policies}, {&own.Exceptions, c.Exceptions}, {&own.Context, c.Context}} {
		if list.have != nil {
			*list.of = list.have
		}
	}
	return &own
}

// Elsewhere reports whether a file holds rules of other clusters only: where it is not said which files hold rules,
// these do not count.
func (s *Settings) Elsewhere(path string) bool {
	return len(s.elsewhere) > 0 && Under(path, s.elsewhere)
}

// Others returns a function that reports whether a root is of other clusters only than the one whose settings these
// are, given what Belongs is; nil where there are no clusters.
func (s *Settings) Others() func(paths ...string) bool {
	if len(s.Clusters) == 0 {
		return nil
	}
	belongs := s.Belongs()
	return func(paths ...string) bool {
		of := belongs(paths...)
		return of[0] != "" && !slices.Contains(of, s.cluster)
	}
}

// Belongs returns a function that lists the clusters of a root, given its path and the files of the objects that deploy
// it: sorted, and the empty name where it is of none.
func (s *Settings) Belongs() func(paths ...string) []string {
	globs := map[string][]*regexp.Regexp{}
	for name, c := range s.Clusters {
		for _, g := range c.Roots {
			if re, err := roots.Glob(g); err == nil { // parseSettings refused others
				globs[name] = append(globs[name], re)
			}
		}
	}
	names := s.ClusterNames()
	return func(paths ...string) []string {
		var list []string
		for _, name := range names {
			if slices.ContainsFunc(globs[name], func(re *regexp.Regexp) bool {
				return slices.ContainsFunc(paths, re.MatchString)
			}) {
				list = append(list, name)
			}
		}
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
}

var kubernetesVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?$`)

// clusterProblems returns what is wrong with the clusters.
func (s *Settings) clusterProblems(written *yaml.Node) (problems []report.Problem) {
	for _, name := range s.ClusterNames() {
		c := s.Clusters[name]
		fail := func(value, field, format string, args ...any) {
			where := strings.TrimSuffix("clusters."+name+"."+field, ".")
			problems = append(problems, problemAt(place(written, value, "clusters", name, field), where, format, args...))
		}
		switch {
		case name == "":
			fail("", "", "a cluster needs a name")
		case len(c.Roots) == 0:
			fail("", "roots", "is missing: say which roots, or files of Argo CD and Flux objects, belong to the cluster")
		}
		if c.Kubernetes != "" && !kubernetesVersion.MatchString(c.Kubernetes) {
			fail(c.Kubernetes, "kubernetes", "%q is not a version: write it like \"1.33\"", c.Kubernetes)
		}
		for _, list := range []struct {
			field string
			globs []string
		}{{"roots", c.Roots}, {"policies", c.Policies}, {"exceptions", c.Exceptions}, {"context", c.Context}} {
			for _, g := range list.globs {
				if problem := globProblem(g); problem != "" {
					fail(g, list.field, "%s", problem)
				}
			}
		}
	}
	return problems
}

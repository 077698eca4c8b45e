package settings

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cluster is one of the clusters of a repository. Its fields replace those of the top level.
type Cluster struct {
	// Roots are globs over root paths, and over the files of objects of Argo CD and Flux, whose deployments also belong
	// to the cluster, unless Argo CD deploys them to another cluster by its name.
	Roots      []string `yaml:"roots"`
	Policies   Policies `yaml:"policies"`
	Exceptions []string `yaml:"exceptions"`
	Context    []string `yaml:"context"`
	// The target for rendering charts: the version of Kubernetes, and API versions ("group/version/Kind") that the
	// cluster has besides those of Kubernetes and of the custom resource definitions in the repository.
	Kubernetes  string   `yaml:"kubernetes"`
	APIVersions []string `yaml:"apiVersions"`
	Complete    []string `yaml:"complete"` // kinds of which the repository declares all that the cluster has
}

// ClusterNames lists the clusters, sorted.
func (s *Settings) ClusterNames() []string { return slices.Sorted(maps.Keys(s.Clusters)) }

// In returns the settings of one cluster. An unknown name returns those of the top level.
func (s *Settings) In(cluster string) *Settings {
	c := s.Clusters[cluster]
	own := *s
	own.elsewhere, own.cluster, own.whole = nil, cluster, s
	for name, other := range s.Clusters {
		if name != cluster {
			own.elsewhere = append(append(own.elsewhere, other.Policies.Paths()...), other.Exceptions...)
		}
	}
	if c.Policies != nil {
		own.Policies = c.Policies
	}
	if c.Exceptions != nil {
		own.Exceptions = c.Exceptions
	}
	if c.Context != nil {
		own.Context = c.Context
	}
	return &own
}

// Version returns the Kubernetes version of the cluster whose settings these are, see In; empty if none is set.
func (s *Settings) Version() string { return strings.TrimPrefix(s.Clusters[s.cluster].Kubernetes, "v") }

// Complete lists the kinds of which the repository declares all objects of the cluster whose settings these are, see In.
func (s *Settings) Complete() []string { return s.Clusters[s.cluster].Complete }

// Of returns a function that lists the clusters of a root of some trees: those that Argo CD deploys it to by their names, else
// see Belongs. It caches them, and is safe for concurrent use.
func (s *Settings) Of(sets ...*deploy.Set) func(roots.Root) []string {
	if len(s.Clusters) == 0 {
		return func(roots.Root) []string { return []string{""} }
	}
	belongs := s.Belongs()
	var mu sync.Mutex
	known := map[roots.Root][]string{}
	return func(root roots.Root) []string {
		mu.Lock()
		defer mu.Unlock()
		if list, ok := known[root]; ok {
			return list
		}
		paths := []string{root.Path}
		if root.Kind == roots.Chart {
			paths = append(paths, root.Name())
		}
		var list []string
		unnamed := false
		for _, set := range sets {
			paths = append(paths, set.DeployedBy(root)...)
			for _, to := range set.Destinations(root) {
				if _, ok := s.Clusters[to.Name]; ok && to.By == gitops.ByName {
					list = append(list, to.Name)
				} else {
					unnamed = true
				}
			}
		}
		if others := belongs(paths...); len(list) == 0 || unnamed && others[0] != "" {
			list = append(list, others...)
		}
		slices.Sort(list)
		known[root] = slices.Compact(list)
		return known[root]
	}
}

// Deployed returns a function that returns where a root of some trees is deployed: according to the settings, or else
// to the tree (see deploy.Set.Placement). If the settings have no clusters, there is one.
func (s *Settings) Deployed(sets ...*deploy.Set) func(*deploy.Set, roots.Root) deploy.Placement {
	of := map[*deploy.Set]func(roots.Root) []string{}
	for _, set := range sets {
		of[set] = s.Of(set)
	}
	return func(set *deploy.Set, root roots.Root) (p deploy.Placement) {
		if len(s.Clusters) > 0 {
			for _, name := range of[set](root) {
				if name != "" {
					p.Clusters = append(p.Clusters, gitops.Cluster{By: gitops.BySettings, Name: name})
				}
			}
		}
		if len(p.Clusters) > 0 {
			return p
		}
		if p = set.Placement(root); len(p.Clusters) > 0 && s.Clusters != nil && len(s.Clusters) == 0 {
			p.Clusters = []gitops.Cluster{{}}
		}
		return p
	}
}

// Rendered returns a function that lists the render targets of a root, given what Of returns; nil if no cluster sets
// one.
func (s *Settings) Rendered(of func(roots.Root) []string) func(roots.Root) []render.Cluster {
	said := slices.ContainsFunc(s.ClusterNames(), func(name string) bool {
		return s.Clusters[name].Kubernetes != "" || len(s.Clusters[name].APIVersions) > 0
	})
	if !said {
		return nil
	}
	return func(root roots.Root) (list []render.Cluster) {
		for _, name := range of(root) {
			c := s.Clusters[name]
			list = append(list, render.Cluster{Name: name, Kubernetes: c.Kubernetes, APIVersions: c.APIVersions})
		}
		return list
	}
}

// OfOtherClusters reports whether a file contains rules of other clusters only. If the settings do not name the files
// with rules, these files do not count.
func (s *Settings) OfOtherClusters(path string) bool {
	return len(s.elsewhere) > 0 && Under(path, s.elsewhere)
}

// SameClusters reports whether roots belong to the same clusters according to other settings.
func (s *Settings) SameClusters(other *Settings) bool {
	return maps.EqualFunc(s.Clusters, other.Clusters, func(a, b Cluster) bool { return slices.Equal(a.Roots, b.Roots) })
}

// Keeps returns a function that reports whether the cluster of these settings, see In, has a root. had says so according to
// earlier settings. A cluster that these did not have takes no root away, since nothing else judges that one yet.
func (s *Settings) Keeps(before *Settings, had func(roots.Root) bool, of func(roots.Root) []string) func(roots.Root) bool {
	if s.SameClusters(before) {
		return had
	}
	return func(r roots.Root) bool {
		list := of(r)
		return slices.Contains(list, s.cluster) || had(r) && slices.ContainsFunc(list, func(name string) bool {
			_, known := before.Clusters[name]
			return name != "" && !known
		})
	}
}

// Others returns a function that reports whether a root of a tree belongs to other clusters only.
func (s *Settings) Others(set *deploy.Set) func(roots.Root) bool {
	clusters := s.Of(set)
	return func(root roots.Root) bool {
		of := clusters(root)
		return of[0] != "" && !slices.Contains(of, s.cluster)
	}
}

// Belongs returns a function that lists the clusters of a root, given its path and the files of the objects that deploy
// it. The list is sorted, and contains the empty name if the root belongs to none.
func (s *Settings) Belongs() func(paths ...string) []string {
	globs := map[string][]*regexp.Regexp{}
	for name, c := range s.Clusters {
		for _, g := range c.Roots {
			if re, err := roots.Glob(g); err == nil { // parseSettings rejected invalid globs
				globs[name] = append(globs[name], re)
			}
		}
	}
	names := s.ClusterNames()
	return func(paths ...string) []string {
		list := report.Kept(names, func(name string) bool {
			return slices.ContainsFunc(globs[name], func(re *regexp.Regexp) bool { return slices.ContainsFunc(paths, re.MatchString) })
		})
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
}

// clusterProblems returns what is wrong with the clusters.
func (s *Settings) clusterProblems() (problems []report.Problem) {
	for _, name := range s.ClusterNames() {
		c := s.Clusters[name]
		fail := func(value, field, format string, args ...any) {
			where := strings.TrimSuffix("clusters."+name+"."+field, ".")
			problems = append(problems, problemAt(s.at(value, "clusters", name, field), where, format, args...))
		}
		switch {
		case name == "":
			fail("", "", "a cluster needs a name")
		case len(c.Roots) == 0:
			fail("", "roots", "is missing: name the roots, or files of Argo CD and Flux objects, that belong to the "+
				"cluster")
		}
		if c.Kubernetes != "" && !matches("clusters.*.kubernetes", c.Kubernetes) {
			fail(c.Kubernetes, "kubernetes", "%q is not a version: write it like \"1.33\"", c.Kubernetes)
		}
		for _, kind := range c.Complete {
			if !matches("clusters.*.complete", kind) {
				fail(kind, "complete", "%q cannot be complete: write PriorityClass, RuntimeClass, IngressClass or StorageClass", kind)
			}
		}
		for _, e := range c.Policies {
			if problem := PolicySourceProblem(report.PolicySource(e)); problem != "" {
				fail(cmp.Or(e.Repository, e.Path), "policies", "%s", problem)
			}
		}
	}
	return problems
}

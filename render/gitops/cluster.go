package gitops

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Cluster identifies a cluster by what an object says of it, or by where the object stands. Two that are equal are the same
// cluster.
type Cluster struct {
	By   ClusterBy
	Name string
}

// ClusterBy is what tells a cluster.
type ClusterBy uint8

// What tells clusters apart. The zero value is nothing: it is the one in which the objects of the repository are.
const (
	ByNothing   ClusterBy = iota
	ByFolder              // the folder that its objects are deployed from: "clusters/NAME", or one that deploys itself
	ByName                // the name that Argo CD knows it by
	ByServer              // its address
	ByConfig              // the kubeconfig that Flux uses
	BySettings            // the name that the settings give it
	ByGenerator           // what only a generator of an ApplicationSet knows
)

// Same reports whether two descriptions may stand for one cluster where a change has one in place of the other: they are
// equal, or only a generator knows what one of them is.
func (c Cluster) Same(other Cluster) bool {
	return c == other || (c.By == ByGenerator) != (other.By == ByGenerator)
}

// MayBe reports whether a change that puts one description in place of another may mean the same cluster: where nothing told
// a cluster its objects may have got a folder, and those of a folder one in it.
func (c Cluster) MayBe(other Cluster) bool {
	return c.Same(other) || c.By == ByNothing && other.By == ByFolder || c.By == ByFolder && other.By == ByNothing ||
		c.within(other) || other.within(c)
}

// Apart reports whether two descriptions certainly stand for different clusters: both say the same kind of thing, and not
// the same. A folder in another one may be for a part of its cluster.
func (c Cluster) Apart(other Cluster) bool {
	return c.By == other.By && c.By != ByGenerator && c.Name != other.Name && !c.within(other) && !other.within(c)
}

func (c Cluster) within(other Cluster) bool {
	return c.By == ByFolder && other.By == ByFolder && (other.Name == "." || strings.HasPrefix(c.Name, other.Name+"/"))
}

// argoCluster reads the destination of an Application, which a generator of an ApplicationSet may have filled in. It returns
// the cluster for people, too (https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters).
func (r *reader) argoCluster(to *field) (people string, c Cluster) {
	name, server := known(to, "name"), known(to, "server")
	people = cmp.Or(name, server)
	switch {
	case name == "in-cluster", server == "https://kubernetes.default.svc":
		return "in-cluster", Cluster{}
	case strings.Contains(people, "{{"), people == "" && to.text("name")+to.text("server") != "":
		return people, Cluster{ByGenerator, r.choosing}
	case people == "":
		return "", Cluster{}
	case name != "":
		return people, Cluster{ByName, name}
	}
	return people, Cluster{ByServer, strings.TrimSuffix(server, "/")}
}

// choosing describes how a generator of an ApplicationSet, or one in it, chooses among what only the cluster knows: two that
// choose differently may give other clusters. What it adds to what is chosen does not count.
func choosing(generator *field) string {
	var parts []any
	for _, key := range generator.keys {
		own := generator.get(key)
		switch key {
		case "matrix", "merge":
			for _, inner := range own.elements("generators") {
				parts = append(parts, choosing(inner))
			}
		case "list", "git", "selector":
		default:
			for _, field := range own.keys {
				if field != "values" && field != "template" && field != "requeueAfterSeconds" {
					parts = append(parts, key, field, own.get(field).plain())
				}
			}
		}
	}
	return digest(parts...)
}

// ClusterOfFolder returns the cluster that a folder of objects is for: Flux' guide has one below "clusters" for each
// (https://fluxcd.io/flux/guides/repository-structure/).
func ClusterOfFolder(dir string) Cluster {
	parts := strings.Split(dir, "/")
	if i := slices.Index(parts, "clusters"); i >= 0 && i+1 < len(parts) {
		return Cluster{ByFolder, path.Join(parts[:i+2]...)}
	}
	return Cluster{}
}

package render

import (
	"fmt"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Target is a root with how it is deployed. Who finds out how is package deploy.
type Target struct {
	roots.Root
	By       *Deployment // how an object of Argo CD or Flux deploys it in its own way; nil: it is deployed as it is
	Digest   string      // tells ways to deploy it apart that render differently; empty where By is nil
	Clusters []Cluster   // that a release is rendered for; none: nothing is known of any
	// Files are the manifests of a folder, or of an ArgoDirectory.
	Files []string
}

// Deployment is what an object of Argo CD or Flux makes of a folder.
type Deployment struct {
	gitops.Deployment
	Virtual  *gitops.Virtual // the kustomization that is built in place of the folder's; nil: the folder's own
	Problems []gitops.Problem
}

// Cluster is what is known of a cluster that charts ask for (.Capabilities).
type Cluster struct {
	Name        string   // for people; may be empty
	Kubernetes  string   // its version; empty: Helm's default
	APIVersions []string // "group/version" and "group/version/Kind" that it has beside those of Kubernetes and the repository
}

// IsRelease reports whether the target is a release of a chart.
func (t Target) IsRelease() bool {
	if t.Object == "" {
		return t.Kind == roots.Chart
	}
	return t.By != nil && (t.By.Release != nil || t.By.External != nil && t.By.External.Release != nil)
}

// IsExternal reports whether not all that the object deploys is in files of the tree: it is a release of a chart, or a folder
// of another repository.
func (t Target) IsExternal() bool {
	return t.By != nil && (t.By.Release != nil || t.By.External != nil)
}

// release returns the release that the target is; nil where it is none, or is one only if a source has a chart.
func (t Target) release() *gitops.Release {
	switch {
	case t.By != nil:
		return t.By.Release
	case t.Object == "" && t.Kind == roots.Chart:
		return standalone(t.Root)
	}
	return nil
}

// clusters are those that a release is rendered for: at least one.
func (t Target) clusters() []Cluster {
	if len(t.Clusters) == 0 {
		return []Cluster{{}}
	}
	return t.Clusters
}

// written describes what else is written in the files that say how the target is deployed: where a line of theirs
// stands.
func (t Target) written(in *tree.Tree) string {
	if t.By == nil {
		return ""
	}
	files := []string{t.By.Where.Path}
	if t.By.Release != nil {
		files = append(files, t.By.Release.Chart.Where.Path)
	}
	if e := t.By.External; e != nil && e.Release != nil {
		files = append(files, e.Release.Chart.Where.Path)
	}
	text := t.Object
	for _, p := range files {
		_, e, _ := in.Lookup(p) // what is not there has no id
		text += " " + e.ID
	}
	return text
}

// key distinguishes targets whose renderings differ: all objects that deploy a folder in the same way share one.
func (r *Renderer) key(t Target) string {
	return fmt.Sprintf("%v %d %t %t %q %v %t %q %q", r.limits, r.tree.BlobLimit(), r.mounts.sources != nil, r.index.Unrestricted(),
		t.Path, t.Kind, t.Object != "", t.Digest, t.Clusters)
}

// ownKey distinguishes targets whose renderings differ in what they come to or in where that is written.
func (r *Renderer) ownKey(t Target) string { return t.Object + " " + r.key(t) }

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// Target is a root and how it is deployed. Package deploy makes targets.
type Target struct {
	roots.Root
	By       *Deployment // the deployment by Argo CD or Flux, if it changes the rendering; nil: deployed as it is
	Digest   string      // distinguishes deployments that render differently; empty where By is nil
	Clusters []Cluster   // the clusters to render a release for; none: nothing is known of any
	// Files are the manifests of a folder, or of an ArgoDirectory.
	Files []string
}

// Deployment is what an object of Argo CD or Flux deploys from a folder.
type Deployment struct {
	gitops.Deployment
	Virtual  *gitops.Virtual // replaces the folder's kustomization; nil: it does not
	Problems []gitops.Problem
}

// Cluster is what charts see of a cluster (.Capabilities).
type Cluster struct {
	Name        string   // for messages; may be empty
	Kubernetes  string   // Kubernetes version; empty: Helm's default
	APIVersions []string // "group/version" and "group/version/Kind", in addition to those of Kubernetes and the repository
}

// anyRelease returns the release of a deployment, also one that it only may have; nil: it is none.
func (d *Deployment) anyRelease() *gitops.Release {
	if d.Release == nil && d.External != nil {
		return d.External.Release
	}
	return d.Release
}

// IsRelease reports whether the target is a release of a chart.
func (t Target) IsRelease() bool {
	if t.Object == "" {
		return t.Kind == roots.Chart
	}
	return t.By != nil && t.By.anyRelease() != nil
}

// IsExternal reports whether the target deploys more than files of the tree: a release of a chart, or a folder of
// another repository.
func (t Target) IsExternal() bool {
	return t.By != nil && (t.By.Release != nil || t.By.External != nil)
}

// release returns the release that the target is. It returns nil where the target is none, or where that depends on a
// remote source.
func (t Target) release() *gitops.Release {
	switch {
	case t.By != nil:
		return t.By.Release
	case t.Object == "" && t.Kind == roots.Chart:
		return standalone(t.Root)
	}
	return nil
}

// clusters returns the clusters to render a release for: at least one.
func (t Target) clusters() []Cluster {
	if len(t.Clusters) == 0 {
		return []Cluster{{}}
	}
	return t.Clusters
}

// written returns a digest of the places that say how the target is deployed: those of its fields are among them. They may
// be in many files: of the object, of patches, and of variables and values that the object names.
func (t Target) written() string {
	if t.By == nil {
		return ""
	}
	h := sha256.New()
	h.Write(env.Encode(t.By.Deployment))
	fmt.Fprint(h, t.By.Virtual.Lines())
	return hex.EncodeToString(h.Sum(nil))
}

// key identifies the content of a target's rendering. Objects that deploy a folder in the same way share it.
func (r *Renderer) key(t Target) string {
	return fmt.Sprintf("%v %d %t %t %q %v %t %q %q", r.limits, r.tree.BlobLimit(), r.mounts.sources != nil, r.index.Unrestricted(),
		t.Path, t.Kind, t.Object != "", t.Digest, t.Clusters)
}

// ownKey identifies a target's rendering with its places.
func (r *Renderer) ownKey(t Target) string { return t.Object + " " + r.key(t) }

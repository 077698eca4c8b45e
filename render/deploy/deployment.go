package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// by joins the path of a root and the object that deploys it, for gitops.Deployment.From.
const by = " by "

// From names a root for what is deployed by its objects: see gitops.FromRoot.
func From(root roots.Root) string {
	if root.Object == "" {
		return root.Path
	}
	return root.Path + by + root.Object
}

// Deployment is what an object of Argo CD or Flux makes of a folder.
type Deployment struct {
	gitops.Deployment
	from     *Deployment // the one that deploys the object; nil: a file has it
	id       string
	own      func() string // gitops.Deployment.Digest
	digest   func() string // with what is built, see worklist.digest
	resolved func() *resolved
}

// resolved is what the folder of a deployment comes to.
type resolved struct {
	render.Deployment
	Files []string // the manifests of an ArgoDirectory
}

func (w *worklist) deployment(one gitops.Deployment, from *Deployment) *Deployment {
	d := &Deployment{Deployment: one, from: from, id: one.ID(), own: sync.OnceValue(one.Digest)}
	d.resolved = sync.OnceValue(func() *resolved { return w.resolve(one) })
	d.digest = sync.OnceValue(func() string { return w.digest(d) })
	return d
}

// top returns the deployment that a file or a root by itself has and by which this one is deployed, be it itself.
func (d *Deployment) top() *Deployment {
	for d.from != nil {
		d = d.from
	}
	return d
}

// ID names the deployment; see gitops.Deployment.ID.
func (d *Deployment) ID() string { return d.id }

// Digest tells ways to deploy a folder that render differently apart. What is built counts as well as what is asked for:
// which of the components that an object adds exist is not part of what the build reads.
func (d *Deployment) Digest() string { return d.digest() }

// resolve works out what the folder of a deployment comes to. What is broken stands in the way of rendering it; what
// else is not known is among the problems of the tree.
func (w *worklist) resolve(one gitops.Deployment) *resolved {
	out := &resolved{Deployment: render.Deployment{Deployment: one}}
	switch {
	case one.Release != nil, one.External != nil:
	case one.Kind == gitops.ArgoDirectory:
		out.Files, out.Problems = gitops.Files(w.index.Tree(), &one, w.limits)
	default:
		out.Virtual, out.Problems = gitops.Edit(w.index.Tree(), &one, w.limits)
	}
	var problems []gitops.Problem
	for _, p := range out.Problems {
		if p.Cause != gitops.Broken {
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.problems = append(w.problems, problems...)
	}
	return out
}

func (w *worklist) digest(one *Deployment) string {
	if one.Release != nil {
		return one.own() + w.contents(one.Release)
	}
	v := one.resolved().Virtual
	if v == nil {
		return one.own()
	}
	return fmt.Sprintf("%s%x", one.own(), sha256.Sum256(v.Data))
}

// contents describes what the files come to that a release reads.
func (w *worklist) contents(release *gitops.Release) string {
	h := sha256.New()
	for _, p := range release.Reads {
		w.state(h, p)
	}
	if release.Chart.Here() {
		w.declaring(h, w.chartText(release.Chart.Folder))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// state writes down what is at a path.
func (w *worklist) state(to io.Writer, p string) {
	fmt.Fprintf(to, "%q %s\n", p, tree.State(w.index.Tree(), p))
}

// target returns a root with how it is deployed, whatever it belongs to.
func (w *worklist) target(root roots.Root) render.Target {
	t := render.Target{Root: root}
	if one := w.of(root); one != nil {
		how := one.resolved()
		t.By, t.Files, t.Digest = &how.Deployment, how.Files, one.Digest()
	}
	return t
}

// root returns the root that a deployment is; false where it adds none to what the folder is anyway.
func (w *worklist) root(one *Deployment) (roots.Root, bool) {
	if one.Release != nil || !one.Unmodified() {
		return roots.Root{Path: one.Path, Kind: roots.KindOf(one.Object.Kind), Object: one.ID()}, true
	}
	if k, err := w.index.Kustomization(one.Path); k == nil && err == nil {
		return roots.Root{}, false // the roots below it are what it deploys
	}
	return roots.Root{Path: one.Path}, true
}

// has reports whether a file or folder is among those that an object deploys from a folder without a kustomization.
func (d *Deployment) has(p string) bool {
	v := d.resolved().Virtual
	return slices.Contains(d.resolved().Files, p) || v != nil && v.Generated && slices.Contains(v.Includes, p)
}

// settles reports whether all of some files are among them, or left out by the source: what is left out is not deployed.
func (w *worklist) settles(d *Deployment, files []string) bool {
	return !slices.ContainsFunc(files, func(p string) bool { return !d.has(p) && !d.Leaves(w.index.Tree(), p) })
}

// covers lists the files by whose change the graph knows the roots that a deployment takes the place of.
func (d *Deployment) covers() []string {
	first := kustomization.FileNames()[0]
	switch {
	case d.Release != nil:
		return []string{path.Join(d.Path, "Chart.yaml")}
	case d.Unmodified(), d.External != nil:
		return nil
	}
	list := append([]string{path.Join(d.Path, first)}, d.resolved().Files...)
	if v := d.resolved().Virtual; v != nil {
		for _, p := range v.Includes {
			list = append(list, p, path.Join(p, first))
		}
	}
	return list
}

// covered reports whether a root that stands in its folder is deployed, but only as one of the deployments has it.
func (w *worklist) covered(r roots.Root) bool {
	bare, other := false, false
	for _, one := range w.ancestors(r.Path) {
		switch {
		case one.External != nil, !w.isLive(one):
		case one.Release != nil:
			other = other || r.Kind == roots.Chart && one.Release.Chart.Here() && one.Release.Chart.Folder == r.Path
		case one.Unmodified():
			bare = bare || one.Path == r.Path
		case r.Kind != roots.Folder && one.Path == r.Path:
			other = other || one.Kind != gitops.ArgoDirectory
		case r.Kind == roots.Folder && one.Kind == gitops.ArgoDirectory:
			other = other || w.settles(one, w.index.Files(r))
		case one.Kind != gitops.Flux:
		case r.Kind == roots.Folder:
			v := one.resolved().Virtual
			other = other || v != nil && v.Generated && w.settles(one, w.index.Files(r))
		default:
			other = other || one.has(r.Path)
		}
	}
	return other && !bare
}

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
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// by separates the path of a root from the object that deploys it, in gitops.Deployment.From.
const by = " by "

// From returns the name of a root in the places of what its objects deploy: see gitops.FromRoot.
func From(root roots.Root) string {
	if root.Object == "" {
		return root.Path
	}
	return root.Path + by + root.Object
}

// Deployment is what an object of Argo CD or Flux deploys from a folder.
type Deployment struct {
	gitops.Deployment
	from     *Deployment // deploys the object; nil: the object is in a file
	asIs     bool        // the folder's own kustomization is deployed unchanged
	followed bool        // its objects were read
	id       string
	own      func() string // gitops.Deployment.Digest
	digest   func() string // of own and what is built, see worklist.digest
	resolved func() *resolved
}

// resolved is what a deployment makes of its folder.
type resolved struct {
	render.Deployment
	Files []string // the manifests of an ArgoDirectory
}

func (w *worklist) deployment(one gitops.Deployment, from *Deployment) *Deployment {
	d := &Deployment{Deployment: one, from: from, id: one.ID(), own: sync.OnceValue(one.Digest)}
	if one.Unmodified() { // Flux generates a kustomization where there is none
		k, err := w.index.Kustomization(one.Path)
		d.asIs = k != nil || err != nil
	}
	d.resolved = sync.OnceValue(func() *resolved { return w.resolve(d) })
	d.digest = sync.OnceValue(func() string { return w.digest(d) })
	return d
}

// top follows from to the deployment whose object is in a file or in a root without a deployment. It may be d itself.
func (d *Deployment) top() *Deployment {
	for d.from != nil {
		d = d.from
	}
	return d
}

// ID identifies the deployment; see gitops.Deployment.ID.
func (d *Deployment) ID() string { return d.id }

// Digest distinguishes deployments of a folder that render differently. It includes the kustomization that is built.
// Which components of the object exist is not part of what the build reads.
func (d *Deployment) Digest() string { return d.digest() }

// resolve finds what a deployment makes of its folder. Its problems keep it from being rendered if they are Broken.
// Others are added to the problems of the tree.
func (w *worklist) resolve(one *Deployment) *resolved {
	out := &resolved{Deployment: render.Deployment{Deployment: one.Deployment}}
	switch {
	case one.Release != nil, one.External != nil:
	case one.Kind == gitops.ArgoDirectory:
		out.Files, out.Problems = gitops.Files(w.index.Tree(), &one.Deployment, w.limits)
	default:
		edited := w.edited(one)
		out.Virtual, out.Problems = edited.Virtual, edited.Problems
	}
	problems := slices.DeleteFunc(slices.Clone(out.Problems), func(p gitops.Problem) bool { return p.Cause == gitops.Broken })
	if len(problems) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.problems = append(w.problems, problems...)
	}
	return out
}

// edited is the result of gitops.Edit.
type edited struct {
	Virtual  *gitops.Virtual
	Problems []gitops.Problem
}

var editedTable = env.Table{Name: "edited"}

func (w *worklist) edited(one *Deployment) (out edited) {
	memory := w.cache.Memory()
	if one.Kind != gitops.Flux && len(one.Overrides.Edits) == 0 { // which is not worth it
		memory = nil
	}
	key := ""
	if memory != nil { // the result has places of the overrides, and problems the object
		key = fmt.Sprintf("%d %v %v %q %x", w.index.Tree().BlobLimit(), w.limits, one.Object, one.own(), sha256.Sum256(slices.Concat(
			env.Encode(one.Overrides), env.Encode(one.PathWhere), env.Encode(one.Exclusion))))
	}
	if known, ok := env.Get[edited](memory, editedTable, key, w); ok {
		return known
	}
	record := env.Record(w.index.Tree())
	out.Virtual, out.Problems = gitops.Edit(record, &one.Deployment, w.limits)
	env.Put(memory, editedTable, key, record.Asked(), out)
	return out
}

// Answer implements env.Answerer, for questions about the tree.
func (w *worklist) Answer(q env.Question) string { return env.Of(w.index.Tree(), q) }

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

// contents returns a digest of the files that a release reads.
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

// state writes the state of a path.
func (w *worklist) state(to io.Writer, p string) {
	fmt.Fprintf(to, "%q %s\n", p, tree.State(w.index.Tree(), p))
}

// target returns a root with its deployment, without a check that the tree has it.
func (w *worklist) target(root roots.Root) render.Target {
	t := render.Target{Root: root}
	if one := w.of(root); one != nil {
		how := one.resolved()
		t.By, t.Files, t.Digest = &how.Deployment, how.Files, one.Digest()
	}
	return t
}

// root returns the root that a deployment adds, or the kustomization that it deploys as it is.
func (d *Deployment) root() roots.Root {
	if d.asIs {
		return roots.Root{Path: d.Path}
	}
	return d.named()
}

// named returns a root with the object that deploys it.
func (d *Deployment) named() roots.Root {
	return roots.Root{Path: d.Path, Kind: roots.KindOf(d.Object.Kind), Object: d.ID()}
}

// has reports whether an object deploys a file or folder as part of a folder without a kustomization.
func (d *Deployment) has(p string) bool {
	v := d.resolved().Virtual
	return slices.Contains(d.resolved().Files, p) || v != nil && v.Generated && slices.Contains(v.Includes, p)
}

// includes reports whether an object deploys the kustomization of a folder.
func (d *Deployment) includes(dir string) bool { return d.Path == dir || d.has(dir) }

// settles reports whether a deployment decides about all of some files: it deploys each of them, or its source leaves
// it out, or its tool does: Flux takes no JSON files, and Argo CD no marked ones.
func (w *worklist) settles(d *Deployment, files []string) bool {
	t := w.index.Tree()
	return !slices.ContainsFunc(files, func(p string) bool {
		skipped := d.Kind == gitops.Flux && path.Ext(p) == ".json" || d.Kind == gitops.ArgoDirectory && gitops.Skips(t, p)
		return !d.has(p) && !skipped && !d.Leaves(t, p)
	})
}

// covers lists the files by whose change the graph finds the roots that a deployment replaces.
func (d *Deployment) covers() []string {
	first := kustomization.FileNames()[0]
	switch {
	case d.Release != nil:
		list := []string{path.Join(d.Path, "Chart.yaml")}
		for _, p := range d.Release.Reads { // folders of charts among them
			list = append(list, path.Join(p, "Chart.yaml"))
		}
		return list
	case d.asIs, d.External != nil:
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

// releases reports whether a live object releases a chart of the tree, or one that depends on it (file://).
func (w *worklist) releases(dir string) bool {
	return slices.ContainsFunc(w.ordered().external, func(one *Deployment) bool {
		return one.Release != nil && one.Release.Chart.Here() && slices.Contains(one.Release.Reads, dir) && w.isLive(one)
	})
}

// covered reports whether a root of a folder is only deployed in the way of a deployment, and not as it is.
func (w *worklist) covered(r roots.Root) bool {
	bare, other := false, r.Kind == roots.Kustomization && w.composes(r.Path) || r.Kind == roots.Chart && w.releases(r.Path)
	for _, one := range w.ancestors(r.Path) {
		switch {
		case one.External != nil, one.Release != nil, !w.isLive(one):
		case one.asIs:
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

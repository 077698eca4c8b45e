package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// deployments are what the objects of Argo CD and Flux in one tree ask for, as far as anybody asked:
// a file of such objects is read when a folder that it may deploy is of interest. It is safe for concurrent use.
type deployments struct {
	tree   *tree.Tree
	graph  *graph.Graph
	repo   gitops.RepoHint
	limits gitops.Limits

	mu       sync.Mutex
	read     map[string]bool // files that were read
	byPath   map[string][]*deployment
	byID     map[string]*deployment
	problems []gitops.Problem
}

// deployment is one of them with what its folder comes to, worked out when it is needed.
type deployment struct {
	gitops.Deployment
	once     sync.Once
	files    []string        // of an ArgoDirectory
	virtual  *gitops.Virtual // the kustomization that is built in place of the folder's; nil: the folder's own
	problems []gitops.Problem
}

// newDeployments answers the deployments of a tree. The repository's clone URLs (or "owner/name") tell its own
// folders from those of others of the same name; none: a folder that exists counts.
func newDeployments(t *tree.Tree, g *graph.Graph, repository []string, limits Limits) *deployments {
	return &deployments{tree: t, graph: g, repo: gitops.RepoHint{URLs: repository}, limits: gitops.Limits{Source: limits.Source},
		read: map[string]bool{}, byPath: map[string][]*deployment{}, byID: map[string]*deployment{}}
}

// ensure reads files of objects that deploy, if nobody did yet. The lock is held.
func (d *deployments) ensure(files []string) {
	var objects []gitops.Object
	substituted, flux := false, false
	for _, p := range files {
		if d.read[p] {
			continue
		}
		d.read[p] = true
		if !d.graph.Manifest(p) {
			continue
		}
		data, _, err := d.tree.ReadFile(p)
		if err != nil {
			continue // who checks the file says why
		}
		found := d.objects(p, data, func(kind string) bool { return slices.Contains(kindsThatDeploy(), kind) })
		objects = append(objects, found...)
		substituted = substituted || bytes.Contains(data, []byte("substituteFrom"))
		flux = flux || slices.ContainsFunc(found, func(o gitops.Object) bool { return o.Value["kind"] == "Kustomization" })
	}
	if len(objects) == 0 {
		return
	}
	if flux {
		_, context := gitops.Kinds()
		for _, kind := range context {
			if kind == "ConfigMap" && !substituted {
				continue
			}
			for _, p := range d.graph.Mentions(kind) {
				if data, _, err := d.tree.ReadFile(p); err == nil && d.graph.Manifest(p) {
					objects = append(objects, d.objects(p, data, func(k string) bool { return k == kind })...)
				}
			}
		}
	}
	found, problems := gitops.Deployments(objects, gitops.Options{Tree: d.tree, Repo: d.repo, Limits: d.limits})
	for _, one := range found {
		next := &deployment{Deployment: one}
		if d.byID[one.ID()] == nil {
			d.byID[one.ID()] = next
			d.byPath[one.Path] = append(d.byPath[one.Path], next)
		}
	}
	d.problems = append(d.problems, problems...)
}

func kindsThatDeploy() []string {
	kinds, _ := gitops.Kinds()
	return kinds
}

// objects parses the documents of some kinds in a file.
func (d *deployments) objects(p string, data []byte, wanted func(kind string) bool) []gitops.Object {
	documents, err := source.Parse(p, data, d.limits.Source)
	if err != nil {
		return nil // the file is a root's, which says so
	}
	var list []gitops.Object
	for _, document := range documents {
		for _, node := range unwrapList(document) {
			if wanted(source.Text(node, "kind")) {
				list = append(list, gitops.FromNode(p, node))
			}
		}
	}
	return list
}

// interesting reads the files that can say how any of the folders is deployed, and those of the changed files that
// are such themselves.
func (d *deployments) interesting(folders, changed []string) {
	files := d.graph.Deployers(folders...)
	for _, p := range changed {
		if d.graph.Deployer(p) {
			files = append(files, p)
		}
		// What they look up may have changed.
		if d.graph.Holds(p, "GitRepository") || d.graph.Holds(p, "ArtifactGenerator") {
			files = append(files, d.graph.Deployers()...)
		}
		if d.graph.Holds(p, "ConfigMap") {
			files = append(files, d.graph.Substituted()...)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ensure(files)
}

// known answers the deployments that were read so far, by ID.
func (d *deployments) known() map[string]*deployment {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.byID)
}

// filesRead lists what was read so far.
func (d *deployments) filesRead() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.read))
}

// of answers the deployment of a root, nil where the tree has none such.
func (d *deployments) of(root graph.Root) *deployment {
	if root.Deploy == "" {
		return nil
	}
	files := d.graph.Deployers(root.Path)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ensure(files)
	return d.byID[root.Deploy]
}

// digest tells deployments that render differently apart. What is built counts as well as what is asked for: which of
// the components that an object adds exist is no part of what the build reads.
func (d *deployments) digest(root graph.Root) string {
	if one := d.of(root); one != nil {
		return d.digestOf(one)
	}
	return ""
}

func (d *deployments) digestOf(one *deployment) string {
	d.resolve(one)
	if one.virtual == nil {
		return one.Digest()
	}
	sum := sha256.Sum256(one.virtual.Data)
	return one.Digest() + hex.EncodeToString(sum[:])
}

// resolve works out what the folder of a deployment comes to.
func (d *deployments) resolve(one *deployment) {
	one.once.Do(func() {
		if one.Kind == gitops.ArgoDirectory {
			one.files, one.problems = gitops.Files(d.tree, &one.Deployment, d.limits)
		} else {
			one.virtual, one.problems = gitops.Edit(d.tree, &one.Deployment, d.limits)
		}
	})
}

// root answers the root that a deployment is; false where it adds none to what the folder is anyway.
func (d *deployments) root(one *deployment) (graph.Root, bool) {
	if one.Kind == gitops.ArgoHelm {
		return graph.Root{}, false
	}
	if !one.Bare() {
		return graph.Root{Path: one.Path, Deploy: one.ID()}, true
	}
	if k, err := d.graph.Kustomization(one.Path); k == nil && err == nil {
		return graph.Root{}, false // the roots below it are what it deploys
	}
	return graph.Root{Path: one.Path}, true
}

// covered says whether a root of the graph is deployed, but only as one of the deployments has it.
func (d *deployments) covered(r graph.Root) bool {
	bare, other := false, false
	files := d.graph.Plain
	for _, one := range d.above(r.Path) {
		switch {
		case one.Kind == gitops.ArgoHelm:
		case one.Bare():
			bare = bare || one.Path == r.Path
		case !r.Plain && one.Path == r.Path:
			other = other || one.Kind != gitops.ArgoDirectory
		case r.Plain && one.Kind == gitops.ArgoDirectory:
			d.resolve(one)
			other = other || includes(one.files, files(r.Path))
		case one.Kind == gitops.Flux:
			if d.resolve(one); one.virtual == nil || !one.virtual.Generated {
				continue
			}
			if r.Plain {
				other = other || includes(one.virtual.Includes, files(r.Path))
			} else {
				other = other || slices.Contains(one.virtual.Includes, r.Path)
			}
		}
	}
	return other && !bare
}

// covers lists the files by whose change the graph knows the roots that a deployment takes the place of.
func (d *deployments) covers(one *deployment) []string {
	if one.Bare() || one.Kind == gitops.ArgoHelm {
		return nil
	}
	d.resolve(one)
	list := append([]string{path.Join(one.Path, kustomization.FileNames()[0])}, one.files...)
	if one.virtual != nil {
		for _, p := range one.virtual.Includes {
			list = append(list, p, path.Join(p, kustomization.FileNames()[0]))
		}
	}
	return list
}

// includes says whether a sorted or unsorted list has all of some files.
func includes(list, files []string) bool {
	return !slices.ContainsFunc(files, func(p string) bool { return !slices.Contains(list, p) })
}

// above lists the deployments of a folder and of those around it.
func (d *deployments) above(dir string) []*deployment {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*deployment
	for _, dir := range around(dir) {
		list = append(list, d.byPath[dir]...)
	}
	return list
}

// around lists a folder and those that it is in.
func around(dir string) []string {
	list := []string{dir}
	for dir != "." {
		dir = path.Dir(dir)
		list = append(list, dir)
	}
	return list
}

// merge turns the graph's roots and the deployments of some folders into what is deployed.
func (d *deployments) merge(roots []graph.Root, folders map[string]bool) []graph.Root {
	roots = slices.DeleteFunc(slices.Clone(roots), d.covered)
	d.mu.Lock()
	var here []*deployment
	for dir, list := range d.byPath {
		if folders == nil || folders[dir] {
			here = append(here, list...)
		}
	}
	d.mu.Unlock()
	for _, one := range here {
		if r, ok := d.root(one); ok {
			roots = append(roots, r)
		}
	}
	return slices.Compact(d.graph.Chosen(roots))
}

// Roots lists all roots of the renderer's tree, sorted: those of its graph, as the objects of Argo CD and Flux deploy
// them. It looks at the whole tree.
func (r *Renderer) Roots() []graph.Root {
	d := r.deployments
	d.interesting(nil, nil)
	return d.merge(r.graph.Roots(), nil)
}

// Reach lists the roots that a change of the given paths can change, sorted, and what a change of the given symlinks
// can change beyond.
func (r *Renderer) Reach(changed, links []string) []graph.Root {
	roots := r.graph.Reach(changed)
	if len(links) > 0 {
		roots = append(roots, r.graph.ReachLinks(links)...)
	}
	if !r.graph.Deploys() {
		return slices.Compact(r.graph.Chosen(roots))
	}
	folders := r.graph.Around(changed, links)
	r.deployments.interesting(folders, changed)
	around := map[string]bool{}
	for _, dir := range folders {
		around[dir] = true
	}
	return r.deployments.merge(roots, around)
}

// Has says whether a root is one of the renderer's tree.
func (r *Renderer) Has(root graph.Root) bool {
	d := r.deployments
	switch {
	case root.Deploy != "":
		one := d.of(root)
		if one == nil {
			return false
		}
		own, ok := d.root(one)
		return ok && own == root && r.graph.Selects(root)
	case !r.graph.Deploys():
		return r.graph.Has(root)
	}
	d.interesting(around(root.Path), nil)
	if r.graph.Has(root) {
		return !d.covered(root)
	}
	return r.graph.Selects(root) && slices.ContainsFunc(d.above(root.Path), func(one *deployment) bool {
		own, ok := d.root(one)
		return ok && own == root
	})
}

// Reached lists the roots of two trees that the change from one to the other reaches, sorted: those that the changed
// files are part of, and those that objects of Argo CD and Flux deploy differently.
func Reached(base, head *Renderer, changed, links []string) []graph.Root {
	roots := append(base.Reach(changed, links), head.Reach(changed, links)...)
	if base.graph.Deploys() || head.graph.Deploys() {
		files := append(base.deployments.filesRead(), head.deployments.filesRead()...)
		for _, side := range []*Renderer{base, head} {
			side.deployments.mu.Lock()
			side.deployments.ensure(slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !side.graph.Deployer(p) }))
			side.deployments.mu.Unlock()
		}
		var differs []string
		for _, sides := range [][2]*deployments{{base.deployments, head.deployments}, {head.deployments, base.deployments}} {
			for id, one := range sides[0].known() {
				if other := sides[1].known()[id]; other == nil || sides[1].digestOf(other) != sides[0].digestOf(one) {
					differs = append(differs, sides[0].covers(one)...)
					if r, ok := sides[0].root(one); ok && sides[0].graph.Selects(r) {
						roots = append(roots, r)
					}
				}
			}
		}
		// What one side deploys in its own way the other may deploy as it is.
		roots = append(roots, base.Reach(differs, nil)...)
		roots = append(roots, head.Reach(differs, nil)...)
	}
	slices.SortFunc(roots, graph.Compare)
	return slices.Compact(roots)
}

// DeployProblem is what stands in the way of knowing what an object of Argo CD or Flux deploys.
type DeployProblem struct {
	source.Error
	Unsure bool // the answer is in the cluster, or it is deployed all the same
}

// DeployProblems lists the problems of the objects that were read so far.
func (r *Renderer) DeployProblems() []DeployProblem {
	d := r.deployments
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]DeployProblem, len(d.problems))
	for i, p := range d.problems {
		list[i] = DeployProblem{p.Error, p.Cluster || p.Warning}
	}
	return list
}

// Deployed is one way in which an object of Argo CD or Flux deploys a folder, other than as it is.
type Deployed struct {
	Root graph.Root
	Kind string // Application, ApplicationSet or Kustomization
	Name string // of the Application or Kustomization, also where an ApplicationSet brings it forth
}

// Deployed lists all of them, sorted by root. It reads every object that deploys something.
func (r *Renderer) Deployed() []Deployed {
	var list []Deployed
	r.deployments.interesting(nil, nil)
	for _, one := range r.deployments.known() {
		if root, ok := r.deployments.root(one); ok && root.Deploy != "" && r.graph.Selects(root) {
			list = append(list, Deployed{Root: root, Kind: one.Object.Kind, Name: one.Name})
		}
	}
	slices.SortFunc(list, func(a, b Deployed) int { return graph.Compare(a.Root, b.Root) })
	return list
}

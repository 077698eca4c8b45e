package roots

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// deployments are what the objects of Argo CD and Flux in one tree ask for, as far as anybody asked:
// a file of such objects is read when a folder that it may deploy is of interest. It is safe for concurrent use.
type deployments struct {
	set    *Set
	repo   gitops.RepoHint
	limits gitops.Limits

	mu       sync.Mutex
	read     map[string]bool     // files that were read
	rendered map[string]rendered // by root and kinds
	added    map[Root]bool       // those of them whose objects are known
	followed map[string]bool     // by ID: the deployments whose objects are known
	byPath   map[string][]*Deployment
	byID     map[string]*Deployment
	problems []gitops.Problem

	ensured        sync.Map // folders of which all files were read that may deploy them
	aboveOnce      sync.Once
	aboveDeployers map[string]bool // see findAbove
}

// Deployment is what an object of Argo CD or Flux makes of a folder.
type Deployment struct {
	gitops.Deployment
	Files    []string         // the manifests of an ArgoDirectory
	Virtual  *gitops.Virtual  // the kustomization that is built in place of the folder's; nil: the folder's own
	Problems []gitops.Problem // see also Set.Problems
	from     *Deployment      // the one that brings the object; nil: a file has it
	once     sync.Once
	id       string
	digest   func() string
}

func newDeployment(one gitops.Deployment, from *Deployment) *Deployment {
	return &Deployment{Deployment: one, from: from, id: one.ID(), digest: sync.OnceValue(one.Digest)}
}

// ID names the deployment; see gitops.Deployment.ID.
func (d *Deployment) ID() string { return d.id }

// Digest tells deployments apart; see gitops.Deployment.Digest.
func (d *Deployment) Digest() string { return d.digest() }

// Deployment returns how an object of Argo CD or Flux deploys a root in its own way, nil where none of the tree does.
func (s *Set) Deployment(root Root) *Deployment {
	one := s.deployed.of(root)
	if one != nil {
		s.deployed.resolve(one)
	}
	return one
}

// Digest tells ways to deploy a root that render differently apart; it is empty for one that is deployed as it is. What
// is built counts as well as what is asked for: which of the components that an object adds exist is not part of what
// the build reads.
func (s *Set) Digest(root Root) string {
	if one := s.deployed.of(root); one != nil {
		return s.deployed.digest(one)
	}
	return ""
}

// ensure reads files of objects that deploy, if nobody did yet. Those that kustomizations change count as these render
// them, so which folders they deploy only that says: they are read in any case.
func (d *deployments) ensure(files []string) { d.follow(d.readFiles(files), false) }

// readFiles reads files of objects that deploy, if nobody did yet, and returns what is new.
func (d *deployments) readFiles(files []string) []*Deployment {
	deploying, _ := gitops.Kinds()
	shaped := d.set.shapedDeployers()
	files = slices.Concat(files, shaped, d.set.linkedDeployers(), d.set.printers())
	d.prepare(shaped, deploying)
	d.mu.Lock()
	defer d.mu.Unlock()
	var objects []gitops.Object
	for _, p := range files {
		if d.read[p] {
			continue
		}
		d.read[p] = true
		if !d.set.Manifest(p) {
			continue
		}
		var found []gitops.Object
		whole := false
		if _, ok := slices.BinarySearch(shaped, p); ok {
			found, whole = d.shaped(p, d.added, deploying...)
		}
		if !whole {
			data, _, err := d.set.Tree().ReadFile(p)
			if err != nil {
				continue // who checks the file says why
			}
			found = append(found, d.objects(p, data, deploying...)...)
		}
		objects = append(objects, found...)
	}
	for _, root := range d.set.oddRoots() {
		if found, _ := d.built(root, deploying...); !d.added[root] {
			d.added[root] = true
			objects = append(objects, found...)
		}
	}
	if len(objects) == 0 {
		return nil
	}
	added, _ := d.add(nil, objects, nil)
	return added
}

// lookUp reads the objects of some kinds that others of Flux read: those of the wanted names, by kind. What an
// ArtifactGenerator or a HelmChart reads in turn is known only by reading it.
func (d *deployments) lookUp(kinds []string, wanted map[string][]string) (objects []gitops.Object) {
	for _, kind := range kinds {
		names := wanted[kind]
		all := kind == "GitRepository" || kind == "ArtifactGenerator" || len(wanted["HelmChart"]) > 0 && !isValues(kind)
		switch {
		case all:
			names = nil
		case len(names) == 0:
			continue
		}
		added := map[Root]bool{}
		files := d.set.Noted(fluxSources, kind)
		if isValues(kind) {
			files = d.set.Mentions(kind)
		}
		for _, p := range files {
			if !d.set.Manifest(p) || kustomization.IsFileName(p) {
				continue
			}
			found, whole := d.shaped(p, added, kind)
			if data, _, err := d.set.Tree().ReadFile(p); err == nil && !whole &&
				holdsAny(graph.Plain(p, data, d.limits.Source), names) {
				found = append(found, d.objects(p, data, kind)...)
			}
			objects = append(objects, found...)
		}
		if !isValues(kind) {
			continue
		}
		for _, root := range d.set.generating(kind, names) {
			if found, _ := d.built(root, kind); !added[root] {
				objects = append(objects, found...)
			}
		}
	}
	return objects
}

// isValues reports whether objects of a kind hold values for others.
func isValues(kind string) bool { return generator(kind) != "" }

// holdsAny reports whether a text has one of some names in it; it does where there are none.
func holdsAny(data []byte, names []string) bool {
	holds := func(name string) bool { return bytes.Contains(data, []byte(name)) }
	return len(names) == 0 || slices.ContainsFunc(names, holds)
}

// objects parses the documents of some kinds in a file.
func (d *deployments) objects(p string, data []byte, kinds ...string) []gitops.Object {
	documents, err := doc.Parse(p, data, d.limits.Source)
	if err != nil {
		return nil // the file is a root's, which says so
	}
	var list []gitops.Object
	for _, document := range documents {
		for _, node := range doc.Unlist(document) {
			if slices.Contains(kinds, doc.Text(node, "kind")) && !d.set.dropped(p, node) {
				list = append(list, gitops.FromNode(p, node))
			}
		}
	}
	return list
}

// interesting reads the files that can say how any of the folders is deployed, and those of the changed files that
// are such themselves.
func (d *deployments) interesting(folders, changed []string) {
	if len(folders) > 0 {
		folders = d.set.dependents(folders)
	}
	files := append(d.set.deployersOf(folders...), d.set.deployersBelow(changed)...)
	if len(changed) > 0 {
		names, values := d.set.generated(changed)
		if len(d.naming([]string{""})) > 0 {
			names = append(names, d.set.reshaped(changed)...)
		}
		files = append(files, d.naming(names)...)
		files = append(files, d.set.deployersOfAsking()...)
		if values {
			files = append(files, d.set.Noted(deployers, substituted)...)
		}
	}
	for _, p := range changed {
		if d.set.deployer(p) {
			files = append(files, p)
		}
		// What they look up may have changed.
		if d.set.Holds(p, "GitRepository") || d.set.Holds(p, "ArtifactGenerator") {
			files = append(files, d.set.deployersOf()...)
		}
		if d.set.Holds(p, "ConfigMap") {
			files = append(files, d.set.Noted(deployers, substituted)...)
		}
		files = append(files, d.readers(p)...)
	}
	d.ensure(files)
}

// readers lists the files with objects that deploy and read objects of a changed file.
func (d *deployments) readers(p string) []string {
	_, kinds := gitops.Kinds()
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return !d.set.Holds(p, kind) })
	if len(kinds) == 0 || len(d.naming([]string{""})) == 0 || !d.set.Manifest(p) {
		return nil
	}
	data, _, err := d.set.Tree().ReadFile(p)
	if err != nil {
		return nil
	}
	var names []string
	for _, o := range d.objects(p, data, kinds...) {
		names = append(names, o.Name())
	}
	return d.naming(names)
}

// naming lists the files with objects that deploy and read an object of one of some names.
func (d *deployments) naming(names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = naming + name
	}
	return d.set.Noted(deployers, keys...)
}

// known returns the deployments that were read so far, by ID.
func (d *deployments) known() map[string]*Deployment {
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

// of returns the deployment of a root, nil where the tree has none such.
func (d *deployments) of(root Root) *Deployment {
	if root.Object == "" {
		return nil
	}
	if _, known := d.ensured.Load(root.Path); !known {
		d.ensure(d.set.deployersOf(root.Path))
		d.ensured.Store(root.Path, true)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byID[root.Object]
}

func (d *deployments) digest(one *Deployment) string {
	d.resolve(one)
	if one.Release != nil {
		return one.Digest() + d.contents(one.Release)
	}
	if one.Virtual == nil {
		return one.Digest()
	}
	return fmt.Sprintf("%s%x", one.Digest(), sha256.Sum256(one.Virtual.Data))
}

// contents tells what the files come to that a release reads.
func (d *deployments) contents(release *gitops.Release) string {
	h := sha256.New()
	for _, p := range release.Reads {
		fmt.Fprintf(h, "%q %s\n", p, tree.State(d.set.Tree(), p))
	}
	if release.Chart.Here() {
		d.askedFor(h, release.Chart.Folder)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// resolve works out what the folder of a deployment comes to. What is broken stands in the way of rendering it; what
// else is not known is among the problems of the tree.
func (d *deployments) resolve(one *Deployment) {
	one.once.Do(func() {
		if one.Release != nil || one.Elsewhere != nil {
			return
		}
		if one.Kind == gitops.ArgoDirectory {
			one.Files, one.Problems = gitops.Files(d.set.Tree(), &one.Deployment, d.limits)
		} else {
			one.Virtual, one.Problems = gitops.Edit(d.set.Tree(), &one.Deployment, d.limits)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, p := range one.Problems {
			if p.Cause != gitops.Broken {
				d.problems = append(d.problems, p)
			}
		}
	})
}

// root returns the root that a deployment is; false where it adds none to what the folder is anyway.
func (d *deployments) root(one *Deployment) (Root, bool) {
	if one.Release != nil || !one.Bare() {
		return Root{Path: one.Path, Kind: kindOf(one.Object.Kind), Object: one.ID()}, true
	}
	if k, err := d.set.Kustomization(one.Path); k == nil && err == nil {
		return Root{}, false // the roots below it are what it deploys
	}
	return Root{Path: one.Path}, true
}

// covered reports whether a root that stands in its folder is deployed, but only as one of the deployments has it.
func (d *deployments) covered(r Root) bool {
	bare, other := false, false
	for _, one := range d.above(r.Path) {
		switch {
		case !d.isLive(one), one.Elsewhere != nil:
		case one.Release != nil:
			other = other || r.Kind == Chart && one.Release.Chart.Here() && one.Release.Chart.Folder == r.Path
		case one.Bare():
			bare = bare || one.Path == r.Path
		case r.Kind != Folder && one.Path == r.Path:
			other = other || one.Kind != gitops.ArgoDirectory
		case r.Kind == Folder && one.Kind == gitops.ArgoDirectory:
			d.resolve(one)
			other = other || includes(one.Files, d.set.Files(r))
		case one.Kind == gitops.Flux:
			if d.resolve(one); one.Virtual == nil || !one.Virtual.Generated {
				continue
			}
			if r.Kind == Folder {
				other = other || includes(one.Virtual.Includes, d.set.Files(r))
			} else {
				other = other || slices.Contains(one.Virtual.Includes, r.Path)
			}
		}
	}
	return other && !bare
}

// has reports whether a file is among those that an object deploys from a folder without a kustomization.
func (d *deployments) has(one *Deployment, p string) bool {
	d.resolve(one)
	return slices.Contains(one.Files, p) ||
		one.Virtual != nil && one.Virtual.Generated && slices.Contains(one.Virtual.Includes, p)
}

// covers lists the files by whose change the graph knows the roots that a deployment takes the place of.
func (d *deployments) covers(one *Deployment) []string {
	if one.Release != nil {
		return []string{path.Join(one.Path, "Chart.yaml")}
	}
	if one.Bare() || one.Elsewhere != nil {
		return nil
	}
	d.resolve(one)
	list := append([]string{path.Join(one.Path, kustomization.FileNames()[0])}, one.Files...)
	if one.Virtual != nil {
		for _, p := range one.Virtual.Includes {
			list = append(list, p, path.Join(p, kustomization.FileNames()[0]))
		}
	}
	return list
}

// includes reports whether a list has all of some files.
func includes(list, files []string) bool {
	return !slices.ContainsFunc(files, func(p string) bool { return !slices.Contains(list, p) })
}

// above lists the deployments of a folder and of those around it.
func (d *deployments) above(dir string) []*Deployment {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*Deployment
	for _, dir := range upwards(dir) {
		list = append(list, d.byPath[dir]...)
	}
	return list
}

// brings reports whether a deployment is a root that its folder would not be by itself.
func (d *deployments) brings(root Root) bool {
	return slices.ContainsFunc(d.above(root.Path), func(one *Deployment) bool {
		own, ok := d.root(one)
		return ok && own == root
	})
}

// merge turns the roots that stand by themselves and the deployments of some folders into what is deployed.
func (d *deployments) merge(roots []Root, folders map[string]bool) []Root {
	roots = slices.DeleteFunc(slices.Clone(roots), d.covered)
	d.mu.Lock()
	var here []*Deployment
	for dir, list := range d.byPath {
		if folders == nil || folders[dir] {
			here = append(here, list...)
		}
	}
	d.mu.Unlock()
	for _, one := range here {
		if folders != nil && (one.Release != nil || one.Elsewhere != nil) {
			continue // what it reads tells whether a change reaches it: see Between
		}
		if r, ok := d.root(one); ok {
			roots = append(roots, r)
		}
	}
	return d.set.chosen(roots)
}

// Unseen reports whether an object of Argo CD or Flux that deployed a root of an earlier tree is there now, and what it
// deploys is not known: nobody can tell that anything of that goes.
func (s *Set) Unseen(before *Set, root Root) bool {
	one := before.deployed.of(root)
	if one != nil && one.Elsewhere == nil {
		for _, other := range s.deployed.known() {
			if other.Elsewhere != nil && other.Object == one.Object {
				return true
			}
		}
	}
	return one != nil && slices.ContainsFunc(s.Problems(), func(p gitops.Problem) bool {
		return p.Cause == gitops.ClusterOnly && p.Object == one.Object
	})
}

// Problems lists what stands in the way of knowing what objects of Argo CD and Flux deploy, of those that were read so
// far. What nobody deploys is left out.
func (s *Set) Problems() []gitops.Problem {
	s.deployed.mu.Lock()
	problems := slices.Clone(s.deployed.problems)
	s.deployed.mu.Unlock()
	return slices.DeleteFunc(problems, func(p gitops.Problem) bool {
		return s.deployer(p.Path) && !s.deployed.live(p.Path)
	})
}

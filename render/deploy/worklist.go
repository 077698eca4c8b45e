package deploy

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
)

// worklist finds what the objects of Argo CD and Flux in one tree deploy. It starts with objects in files, as the
// kustomizations that include the files render them, and continues with objects in what these deploy. An object counts
// as it is in the cluster: Flux may substitute variables in it and patch it, and a chart may print it. It is safe for
// concurrent use.
type worklist struct {
	index    *roots.Index
	renderer *render.Renderer
	cache    *render.Cache
	progress progress.Func
	repo     gitops.RepoNames
	limits   gitops.Limits

	done       sync.Once  // remote charts were followed, too
	work       sync.Mutex // held while deployments are added
	built      env.Memo[roots.Root, builtObjects]
	read       sync.Map                              // by path: the objects of a file, see inFile
	sources    env.Memo[[2]string, []gitops.Object]  // by kind and name: see named
	manifests  env.Memo[string, []string]            // by kind: the manifests that may hold objects of it, see named
	wanted     env.Memo[gitops.Wanted, gitops.Found] // those of sources
	placements env.Memo[roots.Root, Placement]
	reached    env.Memo[clusterKey, []gitops.Cluster] // see reaches
	inside     env.Memo[[2]string, []gitops.Cluster]  // by file and root of an object: see clustersWith
	holds      func() map[string]bool                 // see holdsDeployers
	brings     func() map[string]bool                 // folders whose kustomization includes a remote source or chart, directly or not
	parted     func() map[gitops.Cluster]bool
	dropped    func(dir string) bool // an object deployed a folder before the change, and none does now
	brought    map[roots.Root]bool   // that followBrought has read, with the lock work

	mu        sync.Mutex
	replaced  map[string]bool // files with objects that a deployment changes, see arrived
	contests  map[string]bool // by ID or folder: see contest
	byPath    map[string][]*Deployment
	byObject  map[written][]*Deployment
	composed  map[string][]*Deployment // by the folder of a component that the object adds
	byID      map[string]*Deployment
	deploys   map[*Deployment][]*Deployment // those of byID whose objects a deployment renders
	byOrder   *ordered                      // made of byID on first use, nil after byID has changed
	leaving   []*Deployment                 // whose sources leave out part of their folder
	waiting   []*Deployment                 // whose objects are suspended
	several   []ambiguous                   // what is to be evaluated again: see settle
	selection *selection                    // see selectable; nil: not known
	problems  []gitops.Problem
}

func newWorklist(x *roots.Index, r *render.Renderer, c render.Config) *worklist {
	w := &worklist{index: x, renderer: r, cache: c.Cache, progress: c.Progress, repo: x.RepoNames(),
		limits: gitops.Limits{Source: x.Options().Limits}, holds: sync.OnceValue(x.Deploying.Including),
		replaced: map[string]bool{}, contests: map[string]bool{}, byPath: map[string][]*Deployment{},
		byObject: map[written][]*Deployment{}, composed: map[string][]*Deployment{}, byID: map[string]*Deployment{},
		deploys: map[*Deployment][]*Deployment{}, brought: map[roots.Root]bool{}}
	w.parted, w.dropped = sync.OnceValue(w.findParted), func(string) bool { return false }
	w.brings = sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, dir := range x.Ancestors(x.External()...) {
			out[dir] = true
		}
		return out
	})
	return w
}

// maxFollowed is how many levels of objects that deploy objects are followed.
const maxFollowed = 16

// ready returns the worklist after it has found everything except what remote charts print. Call it once.
func (w *worklist) ready() *worklist {
	w.work.Lock()
	defer w.work.Unlock()
	list := w.enter(w.index.Options().Charts)
	added, _ := w.add(nil, w.objects())
	w.follow(append(list, added...), false)
	w.follow(w.printed(), false)
	for range maxFollowed {
		more := append(w.settle(), w.contest()...)
		if len(more) == 0 {
			break
		}
		w.follow(more, false)
	}
	w.several = nil
	w.unlink()
	return w
}

// printed adds what charts without a release deploy when rendered with their own values, and returns the new
// deployments.
func (w *worklist) printed() (added []*Deployment) {
	for _, root := range w.index.Deploying.Charts() {
		if w.standsAlone(root.Path, map[string]bool{}) {
			more, _ := w.add(nil, w.rendered(root).objects)
			added = append(added, more...)
		}
	}
	return added
}

// followExternal reads the objects in remote charts and other repositories, which must be rendered to find them.
func (w *worklist) followExternal() {
	list := w.sorted()
	w.done.Do(func() {
		w.work.Lock()
		defer w.work.Unlock()
		w.follow(list, true)
	})
}

// followThese does the same for some deployments. It reports whether any of them had not been followed.
func (w *worklist) followThese(list []*Deployment) (any bool) {
	w.work.Lock()
	defer w.work.Unlock()
	list = slices.DeleteFunc(list, func(one *Deployment) bool { return !w.isOpen(one) })
	w.follow(list, true)
	return len(list) > 0
}

// followBrought reads the objects that kustomizations among some roots take from remote sources and charts, which renders them.
func (w *worklist) followBrought(list []roots.Root) {
	w.work.Lock()
	defer w.work.Unlock()
	for list = slices.Clone(list); len(list) > 0; list = list[1:] {
		root := list[0]
		if root.Kind == roots.Folder || root.Kind == roots.Chart || !w.brings()[root.Path] || w.holds()[root.Path] || w.brought[root] {
			continue
		}
		w.brought[root] = true
		var added []*Deployment
		if one := w.of(root); one != nil {
			added = w.readRendered(one)
		} else if root.Object == "" { // otherwise, only the other tree has the deployment
			added, _ = w.add(nil, w.rendered(root).objects)
		}
		w.follow(added, true)
		for _, one := range added {
			list = append(list, one.root())
		}
	}
}

// follow reads the objects that deployments render, and those that these deploy in turn. external includes remote
// charts and other repositories.
func (w *worklist) follow(found []*Deployment, external bool) {
	count := w.progress.Count(finding, 0)
	for depth := 0; len(found) > 0 && depth < maxFollowed; depth++ {
		var next []*Deployment
		count.Add(len(found))
		for _, one := range found {
			end := count.Begin(one.Name)
			next = append(next, w.followOne(one, external)...)
			end()
		}
		found = next
	}
}

// isOpen reports whether a deployment may render objects that were not read yet. It must have its own root.
func (w *worklist) isOpen(one *Deployment) bool {
	if !w.index.Selects(one.Path) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return (!one.asIs || w.contests[one.id]) && !one.followed && w.byID[one.id] == one
}

// followOne reads the objects that one deployment renders, once.
func (w *worklist) followOne(one *Deployment, external bool) []*Deployment {
	if !w.isOpen(one) {
		return nil
	}
	holds := w.holdsDeployers(one, external)
	if !holds && !external {
		return nil
	}
	w.mu.Lock()
	one.followed = true
	w.mu.Unlock()
	if !holds {
		return nil
	}
	return w.readRendered(one)
}

// readRendered reads the objects that a deployment renders, and returns what they deploy.
func (w *worklist) readRendered(one *Deployment) []*Deployment {
	objects := w.sent(one)
	deploying := deploying(objects)
	if len(deploying) == 0 {
		return nil
	}
	takesOver := w.isLive(one) // a deployment that is not live replaces nothing
	added, again := w.add(one, objects)
	if takesOver {
		w.arrived(one, deploying, again)
	}
	return added
}

// holdsDeployers reports whether what a deployment renders may contain objects that deploy something.
func (w *worklist) holdsDeployers(one *Deployment, external bool) bool {
	switch {
	case one.Release != nil:
		return external || one.Release.Chart.Here() && slices.ContainsFunc(one.Release.Reads, func(p string) bool {
			return w.chartText(p).Deploys
		})
	case one.External != nil:
		return external
	case one.Kind == gitops.ArgoDirectory: // files in other folders are read directly
		return slices.ContainsFunc(w.below(one), func(p string) bool { return roots.Hidden(p) && one.has(p) })
	case w.holds()[one.Path]:
		return true
	case one.Kind != gitops.Flux:
		return false
	}
	v := one.resolved().Virtual
	return v != nil && v.Generated && len(w.below(one)) > 0
}

// below lists the files with objects that deploy something below the folder of a deployment.
func (w *worklist) below(one *Deployment) []string {
	prefix, files := strings.TrimPrefix(one.Path+"/", "./"), w.index.Deploying.Files()
	first, _ := slices.BinarySearch(files, prefix)
	last := first
	for last < len(files) && strings.HasPrefix(files[last], prefix) {
		last++
	}
	return files[first:last]
}

// add adds what objects deploy. from is the deployment that renders the objects, nil where they are in files; those of Flux
// may refer to others among them. add returns the new deployments. again has the deployments among from and its deployers
// that the objects only repeat.
func (w *worklist) add(from *Deployment, objects []gitops.Object) (added []*Deployment, again map[*Deployment]bool) {
	kinds, context := gitops.Kinds()
	near := ofKinds(objects, context)
	if objects = ofKinds(objects, kinds); len(objects) == 0 {
		return nil, nil
	}
	var differ []gitops.Object
	found, problems := w.deployments(objects, w.finder(near), func(o gitops.Object) { differ = append(differ, o) })
	for _, o := range objects {
		one := ambiguous{object: o, from: from, near: near, differs: slices.ContainsFunc(differ, o.Is)}
		if one.selects() {
			one.declared = w.selectable().objects
		}
		if one.differs || len(o.Refs) > 0 {
			w.several = append(w.several, one)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enterFound(found, problems, from)
}

// enterFound adds what objects deploy. The lock is held. See add.
func (w *worklist) enterFound(found []gitops.Deployment, problems []gitops.Problem, from *Deployment) (added []*Deployment,
	again map[*Deployment]bool,
) {
	again = map[*Deployment]bool{}
	for _, one := range found {
		if one.Release != nil && !one.Release.Chart.Here() || one.External != nil {
			one.Path = path.Dir(one.Path) // it was the path of a file
		}
		if up := from.repeated(&one); up != nil {
			again[up] = true
		} else if one.Suspended {
			w.waiting = append(w.waiting, w.deployment(one, from))
		} else if next := w.deployment(one, from); w.put(next) {
			added = append(added, next)
		}
	}
	w.problems = append(w.problems, problems...)
	return added, again
}

// put adds a deployment if none has its ID. The lock is held.
func (w *worklist) put(one *Deployment) bool {
	if w.byID[one.id] != nil {
		return false
	}
	w.byID[one.id], w.byOrder = one, nil
	if one.from != nil {
		w.deploys[one.from] = append(w.deploys[one.from], one)
	}
	if one.LeavesOut {
		w.leaving = append(w.leaving, one)
	}
	w.byPath[one.Path] = append(w.byPath[one.Path], one)
	w.byObject[one.written()] = append(w.byObject[one.written()], one)
	for _, dir := range one.Components() {
		w.composed[dir] = append(w.composed[dir], one)
	}
	return true
}

// repeated returns the deployment that another one only repeats: d, or one that deploys d in turn; nil where there is
// none. The first object of a cluster often deploys itself.
func (d *Deployment) repeated(one *gitops.Deployment) *Deployment {
	for ; d != nil; d = d.from {
		if d.says(one.Object, one.Name, one.Source, one.Digest) {
			return d
		}
	}
	return nil
}

// says reports whether a deployment has the same object, name, source and digest.
func (d *Deployment) says(object gitops.Reference, name string, source int, digest func() string) bool {
	return d.Object == object && d.Name == name && d.Source == source && d.own() == digest()
}

// of returns the deployment of a root, nil where the tree has none.
func (w *worklist) of(root roots.Root) *Deployment {
	if root.Object == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[root.Object]
}

// at lists the deployments of a folder.
func (w *worklist) at(dir string) []*Deployment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.byPath[dir])
}

// composing lists the deployments whose object adds one of some components.
func (w *worklist) composing(dirs ...string) (list []*Deployment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range dirs {
		list = append(list, w.composed[dir]...)
	}
	return list
}

// composes reports whether a live object adds a component that is or includes a folder.
func (w *worklist) composes(dir string) bool {
	w.mu.Lock()
	none := len(w.composed) == 0
	w.mu.Unlock()
	return !none && slices.ContainsFunc(w.composing(w.index.Ancestors(dir)...), w.isLive)
}

// ancestors lists the deployments of a folder and of its parent folders.
func (w *worklist) ancestors(dir string) (list []*Deployment) {
	for _, dir := range roots.Upwards(dir) {
		list = append(list, w.at(dir)...)
	}
	return list
}

// known returns all deployments, by ID.
func (w *worklist) known() map[string]*Deployment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.byID)
}

// ordered has deployments by ID, which nobody changes.
type ordered struct {
	all      []*Deployment
	external []*Deployment            // those that do not deploy files of the tree
	into     map[string][]*Deployment // those whose object names a namespace, by namespace
	sources  map[string][]*Deployment // those that are not the first source of their Application: see application
}

// sorted lists all deployments by ID.
func (w *worklist) sorted() []*Deployment { return w.ordered().all }

func (w *worklist) ordered() *ordered {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byOrder == nil {
		all := slices.SortedFunc(maps.Values(w.byID), func(a, b *Deployment) int { return strings.Compare(a.id, b.id) })
		w.byOrder = &ordered{all: all, into: map[string][]*Deployment{}, sources: map[string][]*Deployment{}}
		for _, one := range all {
			if one.Release != nil || one.External != nil {
				w.byOrder.external = append(w.byOrder.external, one)
			}
			if one.Source > 0 {
				w.byOrder.sources[one.application()] = append(w.byOrder.sources[one.application()], one)
			}
			if one.Namespace != "" {
				w.byOrder.into[one.Namespace] = append(w.byOrder.into[one.Namespace], one)
			}
		}
	}
	return w.byOrder
}

package deploy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// Between lists the roots of two trees that the change from base to head reaches, sorted. It reaches roots that contain
// changed files, roots that a changed kustomization includes or no longer includes, and roots that objects of Argo CD
// and Flux deploy differently. If the declared API versions differ, it reaches all releases of charts, too. For links
// see Set.Reach.
func Between(base, head *Set, changed, links []string) []roots.Root {
	list := append(base.Reach(changed, links), head.Reach(changed, links)...)
	standing := included(base, head, changed)
	list = append(list, standing...)
	if base.Deploying.Any() || head.Deploying.Any() {
		base.found().followBrought(list)
		head.found().followBrought(list)
		followReleases(base.found(), head.found())
		ids := differing(base, head)
		abandoned(base, head, standing, ids)
		differs := append(base.replaced(ids, &list), head.replaced(ids, &list)...)
		// A folder that has its own deployment on one side may be deployed as it is on the other.
		list = append(list, base.Reach(differs, nil)...)
		list = append(list, head.Reach(differs, nil)...)
	}
	if render.DeclaresOther(base.Renderer, head.Renderer, changed) {
		for _, s := range []*Set{base, head} {
			list = append(list, slices.DeleteFunc(s.all(), func(r roots.Root) bool { return !s.found().target(r).IsRelease() })...)
		}
	}
	slices.SortFunc(list, roots.Compare)
	return slices.Compact(list)
}

// included lists the roots of either tree that are no roots in the other, or have other files there, only because a
// changed kustomization includes them or no longer includes them, or a changed test names them or no longer does.
func included(base, head *Set, changed []string) (list []roots.Root) {
	seen := map[roots.Root]bool{}
	visit := func(root roots.Root, differs func() bool) {
		if !seen[root] {
			seen[root] = true
			if differs() {
				list = append(list, root)
			}
		}
	}
	for _, p := range changed {
		for _, side := range []*Set{base, head} {
			dirs, files := []string(nil), side.PolicyTests().Names(p)
			if kustomization.IsFileName(p) {
				dirs, files = side.Included(path.Dir(p))
			}
			for _, dir := range dirs {
				root := roots.Root{Path: dir}
				visit(root, func() bool {
					return base.Has(root) != head.Has(root) &&
						(base.IsRoot(root) != head.IsRoot(root) || base.found().composes(dir) != head.found().composes(dir))
				})
			}
			for _, file := range files {
				root := roots.Root{Path: path.Dir(file), Kind: roots.Folder}
				if base.Unreferenced(file) != head.Unreferenced(file) {
					visit(root, func() bool { return base.Has(root) || head.Has(root) })
				}
			}
		}
	}
	return list
}

// followReleases reads the objects that charts print, for releases that differ between the sides. These may be further
// releases, so it repeats until there are no new ones.
func followReleases(base, head *worklist) {
	for more := true; more; {
		more = false
		for _, sides := range [][2]*worklist{{base, head}, {head, base}} {
			theirs := sides[1].known()
			var own, other []*Deployment
			for _, one := range sides[0].sorted() {
				same := theirs[one.id]
				if one.Release == nil && one.External == nil || same != nil && same.Digest() == one.Digest() {
					continue
				}
				if own = append(own, one); same != nil {
					other = append(other, same)
				}
			}
			more = sides[0].followThese(own) || more
			more = sides[1].followThese(other) || more
		}
	}
}

// differing returns the IDs of the deployments that only one tree has, or that the trees deploy differently or to another
// cluster, or that are adopted.
func differing(base, head *Set) map[string]bool {
	ids, theirs := adopted(base, head), head.found().known()
	for id, one := range base.found().known() {
		same := theirs[id]
		delete(theirs, id)
		if same == nil || same.Digest() != one.Digest() || !slices.EqualFunc(head.found().reaches(same), base.found().reaches(one), gitops.Cluster.Is) {
			ids[id] = true
		}
	}
	for id := range theirs {
		ids[id] = true
	}
	return ids
}

// replaced adds the roots that some deployments deploy. It returns the files by which the graph finds the roots that these
// deployments replace.
func (s *Set) replaced(ids map[string]bool, list *[]roots.Root) (files []string) {
	known := s.found().known()
	for id := range ids {
		one := known[id]
		if one == nil {
			continue
		}
		files = append(files, one.covers()...)
		for _, component := range one.Components() {
			dirs, _ := s.Included(component)
			for _, dir := range dirs {
				files = append(files, path.Join(dir, kustomization.FileNames()[0]))
			}
		}
		if s.Selects(one.Path) {
			*list = append(*list, one.root())
		}
	}
	return files
}

// adopted returns the IDs of the deployments of the base that IsAdopted is about.
func adopted(base, head *Set) map[string]bool {
	ids, tops := map[string]bool{}, map[*Deployment]bool{} // who deploys an object depends on the top one
	for id, one := range base.found().known() {
		top := one.top()
		is, known := tops[top]
		if !known {
			is = base.found().isLive(top) && base.isAdopted(top, head)
			tops[top] = is
		}
		if is {
			ids[id] = true
		}
	}
	return ids
}

// abandoned adds the IDs of the deployments of both trees that IsAbandoned is about. standing are the roots that only one
// tree has because of what kustomizations include.
func abandoned(base, head *Set, standing []roots.Root, ids map[string]bool) {
	was, now := base.found().known(), head.found().known()
	var above []*Deployment // those of the base that no longer deploy what they deployed
	for id := range ids {
		if one := was[id]; one != nil {
			above = append(above, one)
		}
	}
	for more := true; more; {
		more = false
		for id, one := range now {
			old := was[id]
			if old == nil || ids[id] {
				continue
			}
			file := one.top().Where.Path
			may := slices.ContainsFunc(standing, func(r roots.Root) bool { return r.Path == path.Dir(file) }) ||
				slices.ContainsFunc(above, func(a *Deployment) bool { return a.isAround(file) })
			if may && head.isAbandoned(one, base) {
				ids[id], above, more = true, append(above, old), true
			}
		}
	}
}

// HasFormer reports whether a root of an earlier tree still exists as files, although it may no longer be a root.
// Another kustomization may include it now, or it may be a component, data, or part of a chart. Nothing says who
// deploys such a folder, and a change must not hide from the check what it edits.
func (s *Set) HasFormer(before *Set, root roots.Root) bool {
	switch {
	case root.Object != "" || !s.Selects(root.Path):
		return false
	case root.Kind == roots.Folder:
		return len(s.remainingFiles(before, root)) > 0
	}
	f, err := s.Kustomization(root.Path)
	return f != nil || err != nil
}

// remainingFiles lists the manifests of a folder, and those of an earlier tree that still exist as files. It lists none
// where the folder now has a kustomization, which says what is deployed.
func (s *Set) remainingFiles(before *Set, root roots.Root) []string {
	if f, err := s.Kustomization(root.Path); f != nil || err != nil {
		return nil
	}
	files := s.Files(root)
	for _, p := range before.Files(root) {
		if s.IsFile(p) {
			files = append(files, p)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// RenderFormer renders a root of an earlier tree, from its files that still exist. See HasFormer.
func (s *Set) RenderFormer(ctx context.Context, before *Set, root roots.Root) (*render.Rendering, []doc.Error, error) {
	t := render.Target{Root: root}
	switch {
	case root.Kind == roots.Folder:
		t.Files = s.remainingFiles(before, root)
	case s.Has(root):
		t = s.Target(root)
	}
	return s.render(ctx, t)
}

// Unseen reports whether the object of Argo CD or Flux that deployed a root of an earlier tree still exists, but what
// it deploys is not known. Then it is not known whether any object of the root is deleted.
func (s *Set) Unseen(before *Set, root roots.Root) bool {
	one := before.found().of(root)
	return one != nil && s.IsUnseen(one)
}

// IsUnseen is Unseen for the objects of a deployment of an earlier tree.
func (s *Set) IsUnseen(one *Deployment) bool {
	isExternal := func(other *Deployment) bool { return other.External != nil }
	if one.External == nil && slices.ContainsFunc(s.ByObject(one.Object), isExternal) {
		return true
	}
	return s.found().isWaiting(one.Object, one.Where.Path) || slices.ContainsFunc(s.Problems(), func(p gitops.Problem) bool {
		return p.Cause == gitops.ClusterOnly && p.Object == one.Object &&
			!(p.Open != nil && (one.Certain || !p.Open.Unknown && s.selects(one)))
	})
}

// Problems lists the reasons why it is not known what objects of Argo CD and Flux deploy. Problems of objects that are
// not deployed themselves are left out.
func (s *Set) Problems() []gitops.Problem {
	w := s.found()
	w.mu.Lock()
	problems := slices.Clone(w.problems)
	w.mu.Unlock()
	return slices.DeleteFunc(problems, func(p gitops.Problem) bool {
		if slices.Contains(s.Deploying.Charts(), roots.Root{Path: p.From, Kind: roots.Chart}) && !s.IsLive(p.From) {
			return !w.standsAlone(p.From, map[string]bool{})
		}
		return s.Deploying.Has(p.Path) && !w.deploysFile(p.Path, map[string]bool{})
	})
}

// Of some ApplicationSets, only the cluster knows which Applications they make. What these would deploy may still be
// known, as where a list overrides the values of single clusters. Such a change is compared like any other.

// Compares reports whether all that a change can do to the Applications of an ApplicationSet is rendered on both sides,
// although the problems of the object, old in the tree before, say that only the cluster knows which of them exist. It
// is false if a cluster may newly get what was deployed to others before, or an Application the folder missing, which does
// not exist. The zero value of old is for an ApplicationSet that the tree before does not have.
func (s *Set) Compares(ctx context.Context, before *Set, now, old gitops.Problem) (ok bool, missing gitops.Override) {
	open, was := now.Open, old.Open
	if open != nil && old.Object == (gitops.Reference{}) {
		was = &gitops.Open{Choice: open.Choice}
	}
	if open == nil || was == nil || open.Unknown || was.Unknown || open.Choice != was.Choice ||
		was.Others > open.Others {
		return false, missing
	}
	for _, one := range s.ByObject(now.Object) {
		same := func(other *Deployment) bool { return other.Object == now.Object }
		if at := before.found().at(one.Path); len(at) > 0 && !slices.ContainsFunc(at, same) {
			return false, missing
		}
	}
	for _, one := range before.ByObject(old.Object) {
		if !one.Certain && open.Others == was.Others && !s.selects(one) { // see IsUnseen
			return false, missing
		}
	}
	if s.deploysFurther(ctx, now.Object, before) || before.deploysFurther(ctx, old.Object, s) {
		return false, missing
	}
	for _, own := range open.Own {
		previous, had := was.Override(own.Key)
		previous.Where = own.Where
		if own.Exists && !s.deploysFrom(now.Object, own.Folder) { // the clusters that Secrets declare do not stand for it
			return false, missing
		}
		if had && previous != own && was.Alike(previous) {
			return false, missing
		}
		previous.How = own.How // this is compared
		switch {
		case had && previous == own:
		case own.Exists && len(before.found().at(own.Folder)) > 0 && !s.deploysNothing(ctx, now.Object, own.Folder):
			return false, missing
		case own.Rest && (had || own.Exists): // what it adds and removes is compared
		case !own.Exists && !previous.Exists && s.brings(before, now, own.Name): // the cluster is another overlay's
		case !own.Exists && !s.generates(now, own.Name):
			return false, own
		case !had && !(own.Exists || before.generates(old, own.Name)) && !before.replaces(ctx, old.Object, "", before, was):
			return false, missing
		case !had && own.Exists && !s.replaces(ctx, now.Object, own.Folder, before, was):
			return false, missing
		}
	}
	return !slices.ContainsFunc(was.Own, func(previous gitops.Override) bool {
		_, has := open.Override(previous.Key)
		gone := !has && (previous.Exists || !s.generates(now, previous.Name) && !before.brings(s, old, previous.Name))
		return !has && was.Alike(previous) || gone && !s.replaces(ctx, now.Object, "", s, open)
	}), missing
}

// ByObject lists the deployments of an object.
func (s *Set) ByObject(object gitops.Reference) (list []*Deployment) {
	for _, one := range s.found().sorted() {
		if one.Object == object {
			list = append(list, one)
		}
	}
	return list
}

// RootsOf lists the roots that an object deploys.
func (s *Set) RootsOf(object gitops.Reference) (list []roots.Root) {
	for _, one := range s.ByObject(object) {
		list = append(list, one.root())
	}
	return list
}

// generates reports whether an ApplicationSet beside that of a problem makes an Application with a name that deploys a
// folder. Then the cluster is one of those that the other selects.
func (s *Set) generates(p gitops.Problem, name string) bool {
	return name != "" && slices.ContainsFunc(s.found().sorted(), func(one *Deployment) bool {
		return one.Object.Kind == "ApplicationSet" && one.Name == name && one.Object.Namespace == p.Object.Namespace &&
			one.Object != p.Object && one.From == p.From && gitops.ClusterOfFolder(one.Where.Path) == gitops.ClusterOfFolder(p.Path)
	})
}

// brings reports whether another overlay than that of a problem deploys a folder for an Application that it has not in
// another tree, although both overlays deploy the ApplicationSet from one file. So it is where each environment has folders
// for its own clusters.
func (s *Set) brings(other *Set, p gitops.Problem, name string) bool {
	elsewhere := func(one *Deployment) bool {
		return one.Name == name && one.Object.Name == p.Object.Name && one.Where.Path == p.Path && one.From != p.From
	}
	return name != "" && slices.ContainsFunc(s.found().sorted(), elsewhere) && !slices.ContainsFunc(other.found().sorted(), elsewhere)
}

// deploysFurther reports whether an object deploys objects that deploy, which another tree does not deploy in the same way,
// or may do so. Who selects the cluster of what these deploy is not known.
func (s *Set) deploysFurther(ctx context.Context, object gitops.Reference, other *Set) bool {
	theirs := other.found().known()
	kinds, _ := gitops.Kinds()
	return slices.ContainsFunc(s.ByObject(object), func(one *Deployment) bool {
		if same := theirs[one.id]; same != nil && same.Digest() == one.Digest() {
			return false
		}
		list, ok := s.rendered(ctx, one)
		return !ok || slices.ContainsFunc(list, func(r *render.Resource) bool {
			kind, _ := r.Object["kind"].(string)
			return slices.Contains(kinds, kind)
		})
	})
}

// selects reports whether the object of a deployment of an earlier tree still deploys to the same clusters.
func (s *Set) selects(one *Deployment) bool {
	return slices.ContainsFunc(s.ByObject(one.Object), func(other *Deployment) bool { return other.To == one.To })
}

// replaces reports whether each resource that an object deploys from a tree for clusters without an override is one that
// it deploys from a folder of s, too; without a folder, whether there is none.
func (s *Set) replaces(ctx context.Context, object gitops.Reference, folder string, of *Set, open *gitops.Open) bool {
	have, ok := s.deployed(ctx, object, folder)
	for _, rest := range open.Own {
		if !rest.Rest {
			continue
		}
		list, known := of.deployed(ctx, object, rest.Folder)
		for identity := range list {
			ok = ok && have[identity]
		}
		ok = ok && known
	}
	return ok
}

// deploysFrom reports whether an object deploys a folder.
func (s *Set) deploysFrom(object gitops.Reference, folder string) bool {
	return slices.ContainsFunc(s.found().at(folder), func(one *Deployment) bool { return one.Object == object })
}

// deploysNothing reports whether a folder certainly has no resource for an object to deploy.
func (s *Set) deploysNothing(ctx context.Context, object gitops.Reference, folder string) bool {
	list, known := s.deployed(ctx, object, folder)
	return known && len(list) == 0 && s.deploysFrom(object, folder)
}

// deployed returns the identities of the resources that an object deploys from a folder. ok is false where some are not
// known.
func (s *Set) deployed(ctx context.Context, object gitops.Reference, folder string) (identities map[string]bool, ok bool) {
	identities = map[string]bool{}
	for _, one := range s.found().at(folder) {
		if one.Object != object {
			continue
		}
		list, ok := s.rendered(ctx, one)
		if !ok {
			return nil, false
		}
		for _, r := range list {
			identities[identityOf(r.Object)] = true
		}
	}
	return identities, true
}

// rendered returns the resources of a deployment. ok is false where some are not known.
func (s *Set) rendered(ctx context.Context, one *Deployment) (list []*render.Resource, ok bool) {
	out, problems, err := s.Render(ctx, one.root())
	if err != nil || len(problems) > 0 || out.Partial {
		return nil, false
	}
	return out.Resources, true
}

func identityOf(object map[string]any) string {
	apiVersion, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	metadata, _ := object["metadata"].(map[string]any)
	return fmt.Sprint(group, " ", object["kind"], " ", metadata["namespace"], " ", metadata["name"])
}

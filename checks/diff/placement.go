package diff

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// placement says to which clusters a root is deployed on both sides. It is empty if no object of Argo CD or Flux
// deploys anything. A root then is the same as long as its path is.
type placement struct {
	known          bool // objects of Argo CD or Flux exist
	chosen         bool // the settings say which folders are roots, so these are deployed whatever deploys them
	before, after  deploy.Placement
	added, removed []gitops.Cluster // of a root of both sides: clusters of only one side
}

func (s Sides) placement(root roots.Root, inBase, inHead bool) (at placement) {
	if s.All || !s.Base.Deploying.Any() && !s.Head.Deploying.Any() {
		return at
	}
	at.known = true
	at.chosen = slices.ContainsFunc(s.Head.Options().Include, func(glob string) bool { return glob != "**" })
	of := s.Placement
	if of == nil {
		of = (*deploy.Set).Placement
	}
	if inBase {
		at.before = addressed(of(s.Base, root), s.Base, s.Head)
	}
	if inHead {
		at.after = addressed(of(s.Head, root), s.Base, s.Head)
	}
	if at.after.Implied && s.Base.IsDeployed(root.Path) {
		at.after = deploy.Placement{} // what deployed it is gone
	}
	if len(at.before.Clusters) > 0 && (len(at.after.Clusters) > 0 || !inHead) && s.Base.IsAdopted(root, s.Head) {
		at.before.Clusters = nil
	}
	if inBase && inHead && !at.after.Implied {
		at.added = without(at.after.Clusters, at.before.Clusters, became)
	}
	if inBase && inHead && !at.before.Implied && !slices.ContainsFunc(s.Base.Deployers(root), s.Head.IsUnseen) {
		at.removed = without(at.before.Clusters, at.after.Clusters, gitops.Cluster.Becomes)
	}
	at.added, at.removed = taken(at.added, at.removed, mayHaveBeen), taken(at.removed, at.added, gitops.Cluster.MayBecome)
	return at
}

// addressed returns a placement with the names of clusters whose address is known, so that the two are the same cluster,
// and without parts: see gitops.Cluster.Is.
func addressed(p deploy.Placement, sets ...*deploy.Set) deploy.Placement {
	named := report.Mapped(p.Clusters, func(c gitops.Cluster) gitops.Cluster { return deploy.Named(c.Whole(), sets...) })
	p.Clusters = report.Union(nil, named)
	return p
}

// became and mayHaveBeen are Becomes and MayBecome for a cluster after the change, and one before it.
func became(later, c gitops.Cluster) bool      { return c.Becomes(later) }
func mayHaveBeen(later, c gitops.Cluster) bool { return c.MayBecome(later) }

// Clusters lists the clusters that a root is deployed to. A root of the base only counts as deployed where the base
// deploys it.
func (s Sides) Clusters(root roots.Root) []gitops.Cluster {
	if list := s.Head.Placement(root).Clusters; len(list) > 0 {
		return list
	}
	return ClustersIn(s.Base, root)
}

// ClustersIn lists the clusters that a root of one tree is deployed to, or whose folder it is in.
func ClustersIn(set *deploy.Set, root roots.Root) []gitops.Cluster {
	if list := set.Placement(root).Clusters; len(list) > 0 {
		return list
	}
	if c := gitops.ClusterOfFolder(root.Path); c != (gitops.Cluster{}) {
		return []gitops.Cluster{c}
	}
	return nil
}

// Have lists the clusters that a tree deploys a file of rules to; none: nothing tells which.
func Have(set *deploy.Set, file string) []gitops.Cluster {
	return ClustersOf(set, set.Reach([]string{file}, nil))
}

// ClustersOf lists the clusters that have any of some roots; none: nothing tells which.
func ClustersOf(set *deploy.Set, roots []roots.Root) (list []gitops.Cluster) {
	for _, root := range roots {
		clusters := ClustersIn(set, root)
		if len(clusters) == 0 {
			return nil
		}
		list = report.Union(list, clusters)
	}
	return list
}

// DeployedBy returns the files with objects that deploy what a file has, see deploy.Set.DeployedBy.
func DeployedBy(set *deploy.Set, file string) map[string]bool {
	files := map[string]bool{}
	for _, root := range set.Reach([]string{file}, nil) {
		for _, by := range set.DeployedBy(root) {
			files[by] = true
		}
	}
	return files
}

// without lists the clusters that are the same as none of others.
func without(list, others []gitops.Cluster, same func(c, other gitops.Cluster) bool) []gitops.Cluster {
	return slices.DeleteFunc(slices.Clone(list), func(c gitops.Cluster) bool {
		return slices.ContainsFunc(others, func(other gitops.Cluster) bool { return same(c, other) })
	})
}

// moves reports whether the root is newly deployed to a cluster, or no longer deployed to one.
func (at placement) moves() bool { return len(at.added)+len(at.removed) > 0 }

// pairs returns the pairs of a root. In a cluster that newly gets the root, all objects are created, whatever other
// clusters have. In a cluster that loses the root, all are deleted.
func (at placement) pairs(root roots.Root, before, after []*render.Resource, all bool) []*Pair {
	list := Pairs(root, before, after, all)
	if len(at.added) > 0 {
		stays := len(at.added) < len(at.after.Clusters)
		list = slices.DeleteFunc(list, func(p *Pair) bool {
			return p.Operation == admission.Create || !stays && (p.Operation == admission.Update || len(at.before.Clusters) == 0)
		})
		list = append(Pairs(root, nil, after, true), list...)
	}
	if len(at.removed) > 0 {
		list = slices.DeleteFunc(list, func(p *Pair) bool { return p.Operation == admission.Delete })
		list = append(list, Pairs(root, before, nil, true)...)
	}
	return list
}

// fallsOut reports whether a root exists only at the head because no object deploys its folder any more. No cluster
// gets the root, and the change touches none of its files: Join leaves out its objects.
func (s Sides) fallsOut(at placement, inBase, inHead bool, reads map[string]string) bool {
	if !at.known || inBase || !inHead || len(at.after.Clusters) > 0 {
		return false
	}
	for p := range reads {
		if s.Trees.Changed(p) {
			return false
		}
	}
	return true
}

// place sets the clusters of a pair.
func (at placement) place(p *Pair) {
	switch {
	case p.Operation == admission.Delete && len(at.removed) > 0:
		p.clusters = at.removed
	case p.Operation == admission.Delete:
		p.clusters = at.before.Clusters
	case p.Operation == admission.Create && len(at.added) > 0:
		p.clusters = at.added
	case !at.after.Implied:
		p.clusters = at.after.Clusters
	}
	p.idle = p.Operation == admission.Create && at.known && len(at.after.Clusters) == 0 && !at.chosen
}

// leaves reports whether the removal of an object takes it out of a cluster, though another root has it that nothing deploys.
func (from *Pair) leaves(to *Pair) bool { return len(from.clusters) > 0 && to.idle }

// redeployed matches the removal of an object with its addition by another root that is deployed to the same cluster:
// only its deployer changed. If several roots remove or add it, those whose objects of Argo CD or Flux have the same
// name match first, then those whose paths end alike. It returns the additions that clusters get; objects that were not
// deployed there before do not make their violations pre-existing.
func redeployed(created, deleted map[Key][]*Pair, drop map[*Pair]bool) (deployed map[*Pair]bool) {
	type match struct {
		from, to *Pair
		alike    int
	}
	deployed = map[*Pair]bool{}
	for k, list := range created {
		var matches []match
		for _, to := range list {
			if len(to.clusters) == 0 {
				continue
			}
			deployed[to] = true
			for _, from := range deleted[k] {
				if from.Root == to.Root || from.uninstalled || len(from.clusters) == 0 || !slices.ContainsFunc(to.clusters, func(c gitops.Cluster) bool {
					return slices.ContainsFunc(from.clusters, func(before gitops.Cluster) bool { return before.MayBecome(c) })
				}) {
					continue
				}
				alike := sharedEnd(from.Root.Path, to.Root.Path)
				if a, b := from.Root.Object, to.Root.Object; a != "" && b != "" && gitops.NameOf(a) == gitops.NameOf(b) {
					alike += len(to.Root.Path) // longer than the number of elements of any path
				}
				matches = append(matches, match{from, to, alike})
			}
		}
		slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(b.alike, a.alike) })
		of := map[*Pair][]*Pair{} // the removals that each addition replaces, each in some clusters
		left := map[*Pair][]gitops.Cluster{}
		for _, m := range matches {
			for _, p := range []*Pair{m.from, m.to} {
				if _, known := left[p]; !known {
					left[p] = p.clusters
				}
			}
			had := left[m.to]
			left[m.to] = taken(had, left[m.from], mayHaveBeen)
			left[m.from] = taken(left[m.from], had, gitops.Cluster.MayBecome)
			if len(left[m.to]) < len(had) {
				of[m.to] = append(of[m.to], m.from)
			}
		}
		for to, froms := range of {
			if len(left[to]) == 0 && !slices.ContainsFunc(froms, func(p *Pair) bool { return !same(p.Old, froms[0].Old) }) {
				update(froms[0], to, drop)
				for _, from := range froms { // an object that no other root deploys to a cluster is still deleted there
					drop[from] = len(left[from]) == 0
				}
			}
		}
	}
	return deployed
}

// Kept turns creations into updates if another root of the base deploys the object from the same file to the same
// cluster. The object exists there already, whatever deploys it now. Clusters that only a generator names are unknown
// and left out. A deletion is in doubt where another root of the head deploys the object from the same file. reads returns
// what the rendering of a root read.
func (s Sides) Kept(ctx context.Context, list []*Pair, reads func(roots.Root) map[string]string) ([]*Pair, error) {
	drop, by := map[*Pair]bool{}, map[string][]roots.Root{}
	now := reaching{reads: reads, byFile: map[string][]roots.Root{}, byRoot: map[roots.Root][]roots.Root{}}
	for _, p := range list {
		if err := s.doubt(ctx, p, now); err != nil {
			return nil, err
		}
		if p.Operation != admission.Create || len(p.clusters) == 0 || !hasName(p.New) {
			continue
		}
		file := p.New.Origin("").Path
		others, known := by[file]
		if !known && s.Trees.Base.Blob(file) != "" {
			others = s.Base.Reach([]string{file}, nil)
		}
		by[file] = others
		left := p.clusters
		var had *render.Resource
		for _, root := range others {
			at := s.placement(root, true, false).before.Clusters
			at = slices.DeleteFunc(slices.Clone(at), func(c gitops.Cluster) bool { return c.By == gitops.ByGenerator })
			if root == p.Root || !slices.ContainsFunc(left, func(c gitops.Cluster) bool { return slices.Contains(at, c) }) || s.uninstalled(root) != nil {
				continue
			}
			was, _, err := s.Base.Render(ctx, root)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(was.Resources, func(r *render.Resource) bool { return KeyOf(r) == KeyOf(p.New) })
			if i < 0 || had != nil && !same(had, was.Resources[i]) {
				continue
			}
			had = was.Resources[i]
			left = slices.DeleteFunc(slices.Clone(left), func(c gitops.Cluster) bool { return slices.Contains(at, c) })
		}
		if len(left) == 0 {
			update(&Pair{Root: p.Root, Old: deployersOf(s.Base, p.Root).admitted(had)}, p, drop)
		}
	}
	return slices.DeleteFunc(list, func(p *Pair) bool { return drop[p] }), nil
}

// reaching has the roots of the head that a file reaches, or any file that a root read.
type reaching struct {
	reads  func(roots.Root) map[string]string
	byFile map[string][]roots.Root
	byRoot map[roots.Root][]roots.Root
}

// doubt sets the Doubt of a deletion.
func (s Sides) doubt(ctx context.Context, p *Pair, by reaching) error {
	if p.Operation != admission.Delete || p.uninstalled || p.Doubt != "" || len(p.clusters) == 0 || !hasName(p.Old) {
		return nil
	}
	// The file of an object of the base is often known only after another rendering, so it is asked for last.
	near, known := by.byRoot[p.Root]
	if !known {
		files := slices.Collect(maps.Keys(by.reads(p.Root)))
		for _, one := range s.Base.Deployers(p.Root) {
			files = append(files, one.Where.Path)
		}
		near = s.Head.Reach(files, nil)
		by.byRoot[p.Root] = near
	}
	near = report.Kept(near, func(root roots.Root) bool {
		at := s.placement(root, false, true).after.Clusters
		return root != p.Root && !slices.ContainsFunc(p.clusters, func(c gitops.Cluster) bool {
			return c.By == gitops.ByGenerator || !slices.Contains(at, c)
		}) && !s.Head.IsAbandoned(root, s.Base)
	})
	if len(near) == 0 {
		return nil
	}
	file := p.Old.Origin("").Path
	others, known := by.byFile[file]
	if !known && s.Trees.Head.Blob(file) != "" {
		others = s.Head.Reach([]string{file}, nil)
	}
	by.byFile[file] = others
	for _, root := range others {
		if !slices.Contains(near, root) {
			continue
		}
		now, _, err := s.Head.Render(ctx, root)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(now.Resources, func(r *render.Resource) bool { return KeyOf(r) == KeyOf(p.Old) }) {
			p.Doubt = root.Name() + " deploys the object, too: whether it is deleted is not known before merge; if it is"
			return nil
		}
	}
	return nil
}

// decided lists the resources of a root that no later source of the same Application has, too: of several sources with an
// object, Argo CD deploys that of the last one (https://argo-cd.readthedocs.io/en/stable/user-guide/multiple_sources/).
func (s Sides) decided(ctx context.Context, set *deploy.Set, root roots.Root, list []*render.Resource) ([]*render.Resource, error) {
	sources := set.LaterSources(root)
	if len(sources) == 0 || slices.ContainsFunc(sources, func(later []roots.Root) bool { return len(later) == 0 }) {
		return list, nil
	}
	own := make([]func(*render.Resource) bool, len(sources)) // by Application
	for i, later := range sources {
		var others []*render.Resource
		for _, other := range later {
			out, _, err := set.Render(ctx, other)
			if err != nil {
				return nil, err
			}
			others = append(others, out.Resources...)
		}
		own[i] = missing(others)
	}
	return slices.DeleteFunc(slices.Clone(list), func(r *render.Resource) bool {
		return hasName(r) && !slices.ContainsFunc(own, func(own func(*render.Resource) bool) bool { return own(r) })
	}), nil
}

// Uncovered lists the other roots that may have an object which a later source of the same Application had until now.
func (s Sides) Uncovered(list []*Root) (uncovered []roots.Root) {
	known := map[roots.Root]bool{}
	for _, r := range list {
		known[r.Root] = true
	}
	for _, r := range list {
		if !slices.ContainsFunc(r.Pairs, func(p *Pair) bool { return p.Operation == admission.Delete && hasName(p.Old) }) {
			continue
		}
		for _, earlier := range s.Base.EarlierSources(r.Root) {
			if !known[earlier] {
				known[earlier] = true
				uncovered = append(uncovered, earlier)
			}
		}
	}
	return uncovered
}

// uninstalled returns the deployment of a root that is a release which Flux uninstalls; nil: it is none. The release may be
// installed again.
func (s Sides) uninstalled(root roots.Root) *deploy.Deployment {
	if one := s.Base.Deployment(root); one != nil && !s.All && s.Base.Uninstalls(one, s.Head) {
		return one
	}
	return nil
}

// Stays reports whether a pair deletes an object that stays in the cluster, because all that deployed it keep what they
// stop deploying, or updates one that an upgrade leaves alone.
func (s Sides) Stays(p *Pair) bool {
	list := s.Base.Deployers(p.Root)
	if p.Operation == admission.Update {
		return len(list) > 0 && !slices.ContainsFunc(list, func(d *deploy.Deployment) bool {
			now := s.Head.Counterpart(d)
			return now == nil || now.Reinstalls(&d.Deployment) || !now.LeavesAlone(p.New.Object)
		})
	}
	if p.Operation != admission.Delete || s.All {
		return false
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(d *deploy.Deployment) bool {
		now := s.Head.Counterpart(d)
		if now == nil || now.Name != d.Name {
			outlives := now == nil && s.Base.Outlives(d, s.Head) && !s.Trees.Changed(p.Old.Origin("").Path) // and still deploys it
			return !outlives && !cmp.Or(now, d).Lasts && !d.Keeps(p.Old.Object, true)
		}
		return !now.Keeps(p.Old.Object, false)
	})
}

// taken lists the clusters that match none of others, each of which matches at most one.
func taken(list, others []gitops.Cluster, match func(c, other gitops.Cluster) bool) (left []gitops.Cluster) {
	others = slices.Clone(others)
	for _, c := range list {
		i := slices.Index(others, c)
		if i < 0 {
			i = slices.IndexFunc(others, func(other gitops.Cluster) bool { return match(c, other) })
		}
		if i < 0 {
			left = append(left, c)
		} else {
			others = slices.Delete(others, i, i+1)
		}
	}
	return left
}

// sharedEnd counts the elements that two paths have in common at the end.
func sharedEnd(a, b string) int { return view.SameTail(strings.Split(a, "/"), strings.Split(b, "/")) }

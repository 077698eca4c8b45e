package roots

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/tree"
)

// Objects of Argo CD and Flux may come to a cluster by way of others: Flux puts variables in and patches what it deploys,
// and a chart may print Applications. What counts is what arrives, so what is deployed in a way of its own is rendered
// where it holds such objects.

// maxFollowed is how far objects that deploy objects that deploy are followed.
const maxFollowed = 16

// by joins the path of a root and the object that deploys it, for gitops.Deployment.From.
const by = " by "

// From names a root for what is deployed by its objects: see gitops.FromRoot.
func From(root Root) string {
	if root.Object == "" {
		return root.Path
	}
	return root.Path + by + root.Object
}

// follow reads the objects that deployments bring. With charts, those that come from elsewhere count, too, and so do
// other repositories: they cannot be looked into without rendering them.
func (d *deployments) follow(found []*Deployment, charts bool) {
	for depth := 0; len(found) > 0 && depth < maxFollowed; depth++ {
		var next []*Deployment
		for _, one := range found {
			next = append(next, d.followOne(one, charts)...)
		}
		found = next
	}
}

// isFollowed reports whether the objects of a deployment are known, as far as it has any, or do not count: another one
// brings it otherwise.
func (d *deployments) isFollowed(one *Deployment) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := one.ID()
	return d.followed[id] || d.byID[id] != one
}

// followOne reads the objects that one deployment brings, once.
func (d *deployments) followOne(one *Deployment, charts bool) []*Deployment {
	build := d.set.builder()
	root, ok := d.root(one)
	if build == nil || !ok || root.Object == "" || !d.set.Selects(root) {
		return nil
	}
	if d.isFollowed(one) {
		return nil
	}
	holds := d.holdsDeployers(one, charts)
	if !holds && !charts {
		return nil
	}
	d.mu.Lock()
	seen := d.followed[one.ID()]
	d.followed[one.ID()] = true
	d.mu.Unlock()
	if seen || !holds {
		return nil
	}
	objects, read := d.brought(build, root)
	if len(objects) == 0 {
		return nil
	}
	takesOver := d.isLive(one) // what nobody deploys does not
	d.mu.Lock()
	defer d.mu.Unlock()
	added, again := d.add(one, objects, read)
	if !takesOver {
		return added
	}
	arrived := func(o gitops.Reference, file, from string) bool {
		return (from == "" || !strings.Contains(from, by)) && slices.ContainsFunc(objects, func(as gitops.Object) bool {
			return as.Kind() == o.Kind && as.Name() == o.Name && as.File() == file
		})
	}
	raw := map[*Deployment]bool{}
	for _, other := range d.byID {
		raw[other] = other != one && !again[other] && arrived(other.Object, other.Where.Path, other.From)
	}
	without := d.drop(raw, one)
	d.problems = slices.DeleteFunc(d.problems, func(p gitops.Problem) bool {
		return without[p.From] || arrived(p.Object, p.Path, p.From)
	})
	return added
}

// drop takes out deployments and what they brought, but for one of these; the lock is held. It returns the roots that
// they were, as gitops.Deployment.From names them.
func (d *deployments) drop(raw map[*Deployment]bool, but *Deployment) map[string]bool {
	roots := map[string]bool{}
	for id, one := range d.byID {
		up := one
		for up != nil && up != but && !raw[up] {
			up = up.from
		}
		if up == nil || up == but {
			continue
		}
		if root, ok := d.root(one); ok && root.Object != "" {
			roots[From(root)] = true
		}
		delete(d.byID, id)
		d.byPath[one.Path] = slices.DeleteFunc(d.byPath[one.Path], func(other *Deployment) bool { return other == one })
	}
	return roots
}

// brought returns the objects that deploy in what a root renders to, and those that these read and that come with them.
func (d *deployments) brought(build Builder, root Root) (deploying, read []gitops.Object) {
	kinds, context := gitops.Kinds()
	if deploying, _ = build(root, kinds); len(deploying) > 0 {
		read, _ = build(root, context)
	}
	return deploying, read
}

// holdsDeployers reports whether what a deployment renders may hold objects that deploy.
func (d *deployments) holdsDeployers(one *Deployment, charts bool) bool {
	if one.Release != nil {
		seen := map[string]bool{}
		return charts || one.Release.Chart.Here() && slices.ContainsFunc(one.Release.Reads, func(p string) bool {
			return d.chartHolds(p, seen)
		})
	}
	if one.Elsewhere != nil {
		return charts
	}
	if one.Kind == gitops.ArgoDirectory {
		return false // its files are read as they are
	}
	d.resolve(one)
	d.aboveOnce.Do(d.findAbove)
	generated := one.Virtual != nil && one.Virtual.Generated
	return d.aboveDeployers[one.Path] || generated && slices.ContainsFunc(d.set.Noted(deployers, anyFolder), func(p string) bool {
		return one.Path == "." || strings.HasPrefix(p, one.Path+"/")
	})
}

// findAbove finds the folders whose kustomization includes a file with objects that deploy, directly or not.
func (d *deployments) findAbove() {
	taking := map[string]bool{}
	for _, p := range d.set.Noted(deployers, anyFolder) {
		for _, dir := range d.set.Taking(p) {
			taking[dir] = true
		}
	}
	d.aboveDeployers = map[string]bool{}
	for _, dir := range d.set.Above(taking) {
		d.aboveDeployers[dir] = true
	}
}

// chartHolds reports whether a file that a release reads, or one of a folder of it, names a group of objects that deploy.
// A template may put the name together, so this is only where to look first.
func (d *deployments) chartHolds(dir string, seen map[string]bool) bool {
	t := d.set.Tree()
	real, e, err := t.Lookup(dir)
	if err != nil || seen[real] {
		return false
	}
	seen[real] = true
	if e.Kind != tree.Dir {
		data, _, err := t.ReadFile(real)
		return err == nil && slices.ContainsFunc(deploymentMarks(), func(mark string) bool {
			return bytes.Contains(data, []byte(mark))
		})
	}
	list, err := t.ReadDir(real)
	return err == nil && slices.ContainsFunc(list, func(e tree.Entry) bool {
		return d.chartHolds(path.Join(real, e.Name), seen)
	})
}

// add adds what objects deploy that one deployment brings, nil where files have them; the lock is held. It returns what is
// new, and of what brought them what they are again. What they read and that came with them counts, and not what it was
// made of.
func (d *deployments) add(from *Deployment, objects, read []gitops.Object) (added []*Deployment, again map[*Deployment]bool) {
	again = map[*Deployment]bool{}
	_, context := gitops.Kinds()
	wanted := map[string][]string{} // by kind, the names of what these read
	flux := false
	for _, o := range objects {
		for kind, names := range o.Reads() {
			wanted[kind] = append(wanted[kind], names...)
		}
		flux = flux || o.Kind() == "Kustomization" || o.Kind() == "HelmRelease"
	}
	if flux {
		objects = slices.Concat(objects, read, slices.DeleteFunc(d.lookUp(context, wanted), func(o gitops.Object) bool {
			return slices.ContainsFunc(read, o.Same)
		}))
	}
	found, problems := gitops.Deployments(objects, gitops.Options{Tree: d.set.Tree(), Repo: d.repo, Limits: d.limits,
		Releases: true})
	for _, one := range found {
		if one.Release != nil && !one.Release.Chart.Here() || one.Elsewhere != nil {
			one.Path = path.Dir(one.Path) // it is that of a file
		}
		if up := from.repeated(&one); up != nil {
			again[up] = true
			continue
		}
		next := newDeployment(one, from)
		if d.byID[next.id] == nil {
			d.byID[next.id] = next
			d.byPath[one.Path] = append(d.byPath[one.Path], next)
			added = append(added, next)
		}
	}
	d.problems = append(d.problems, problems...)
	return added, again
}

// repeated returns the deployment that another one is again which this one brings: this one, or one that brings it in
// turn; nil where there is none. The first object of a cluster often is among what it deploys, and comes to what is known.
func (d *Deployment) repeated(one *gitops.Deployment) *Deployment {
	for ; d != nil; d = d.from {
		if d.Object == one.Object && d.Name == one.Name && d.Source == one.Source && d.Digest() == one.Digest() {
			return d
		}
	}
	return nil
}

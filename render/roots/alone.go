package roots

import (
	"path"
	"slices"
)

// live reports whether the objects in a file are themselves deployed: as part of a root, or by another object that is.
// What nobody deploys takes nothing over.
func (d *deployments) live(p string) bool { return d.alive(p, map[string]bool{}) }

// alive is live for an object that others, in the files passed, may lead to.
func (d *deployments) alive(p string, passed map[string]bool) bool {
	if passed[p] {
		return false // what only deploys itself is not deployed
	}
	passed[p] = true
	s, dir := d.set, path.Dir(p)
	if s.taken(p) || s.counts(dir) && s.owner(dir) == Folder && s.loose(p) {
		return true
	}
	d.interesting(upwards(dir), nil)
	return slices.ContainsFunc(d.above(dir), func(one *Deployment) bool {
		return d.has(one, p) && d.alive(one.Where.Path, passed)
	})
}

// isLive is live for the object of a deployment: what is deployed brings it, too, where that renders it.
func (d *deployments) isLive(one *Deployment) bool {
	for one.from != nil {
		one = one.from
	}
	return one.Object.Kind == chartEntry || d.live(one.Where.Path)
}

// Deploys reports whether an object of Argo CD or Flux deploys a file by its folder, whatever else names it.
func (s *Set) Deploys(p string) bool {
	s.deployed.interesting(upwards(path.Dir(p)), nil)
	return slices.ContainsFunc(s.deployed.above(path.Dir(p)), func(one *Deployment) bool { return s.deployed.has(one, p) })
}

// MayDeploy reports whether somebody may deploy the files of a folder as they lie there: it has manifests of its own, or
// an object of Argo CD or Flux deploys a folder of theirs.
func (s *Set) MayDeploy(dir string) bool { return s.deploys || len(s.manifests(dir, 1)) > 0 }

// said reports whether an object that is itself deployed deploys the kustomization of a folder, or one that takes it
// over.
func (d *deployments) said(dir string) bool {
	above := d.set.Above(map[string]bool{dir: true})
	d.interesting(above, nil)
	return slices.ContainsFunc(above, func(up string) bool {
		d.interesting(upwards(up), nil)
		return slices.ContainsFunc(d.above(up), func(one *Deployment) bool {
			return one.Release == nil && one.Elsewhere == nil && (one.Path == up || d.has(one, up)) && d.isLive(one)
		})
	})
}

// Alone lists the kustomizations that a change of the given paths and symlinks is in, that others take over, and of
// which nothing says who deploys them: neither the objects of Argo CD and Flux nor the options, which leave out what
// somebody else deploys. What such a kustomization breaks by itself, one that takes it over may mend; whether all that
// deploy it do, nobody knows.
func (s *Set) Alone(changed, links []string) []Root {
	seen := map[string]bool{}
	var list []Root
	var visit func(dir string)
	visit = func(dir string) {
		switch root := (Root{Path: dir}); {
		case seen[dir]:
		case !s.Stands(dir):
			seen[dir] = true
			for _, up := range s.Taking(dir) { // a component changes what takes it over
				visit(up)
			}
		default:
			seen[dir] = true
			if s.counts(dir) && !s.stands(root) && !s.deployed.said(dir) {
				list = append(list, root)
			}
		}
	}
	for dir := range s.Touched(changed, links) {
		visit(dir)
	}
	slices.SortFunc(list, Compare)
	return list
}

// Excluded lists the roots that a change reaches and the options leave out, as far as what changes is part of no other.
func (s *Set) Excluded(changed, links []string) []Root {
	if len(s.filter.exclude) == 0 {
		return nil
	}
	dead := map[string]bool{}
	for dir := range s.Touched(changed, links) {
		if !s.Live(dir, s.counts) {
			dead[dir] = true
		}
	}
	var list []Root
	everything := func(string) bool { return true }
	for _, dir := range s.Tops(dead, everything) {
		list = append(list, Root{Path: dir})
	}
	for _, dir := range folders(s, touchedFolders(s, changed, links)) {
		list = append(list, Root{Path: dir, Kind: Folder})
	}
	list = slices.DeleteFunc(list, func(r Root) bool { return !s.filter.excludes(r.Path) })
	slices.SortFunc(list, Compare)
	return slices.Compact(list)
}

package roots

import "slices"

// Between lists the roots of two trees that the change from one to the other reaches, sorted: those that the changed
// files are part of, those that a changed kustomization takes over or gives up, and those that objects of Argo CD and
// Flux deploy differently. See Reach for links.
func Between(base, head *Set, changed, links []string) []Root {
	roots := append(base.Reach(changed, links), head.Reach(changed, links)...)
	roots = append(roots, takenOver(base, head, changed)...)
	if base.deploys || head.deploys {
		files := append(base.deployed.filesRead(), head.deployed.filesRead()...)
		for _, side := range []*Set{base, head} {
			side.deployed.ensure(slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !side.deployer(p) }))
		}
		followReleases(base, head)
		differs := append(differently(base, head, &roots), differently(head, base, &roots)...)
		// What one side deploys in its own way the other may deploy as it is.
		roots = append(roots, base.Reach(differs, nil)...)
		roots = append(roots, head.Reach(differs, nil)...)
	}
	slices.SortFunc(roots, Compare)
	return slices.Compact(roots)
}

// followReleases reads the objects that charts print which one side releases otherwise than the other, until there are no
// more.
func followReleases(base, head *Set) {
	for range maxFollowed {
		more := false
		for _, sides := range [][2]*Set{{base, head}, {head, base}} {
			theirs := sides[1].deployed.known()
			for _, one := range sides[0].deployed.sorted() {
				same := theirs[one.ID()]
				if one.Release == nil && one.Elsewhere == nil || same != nil &&
					sides[1].deployed.digest(same) == sides[0].deployed.digest(one) {
					continue
				}
				for _, d := range []struct {
					*deployments
					one *Deployment
				}{{sides[0].deployed, one}, {sides[1].deployed, same}} {
					if d.one != nil && !d.isFollowed(d.one) {
						more = true
						d.follow([]*Deployment{d.one}, true)
					}
				}
			}
		}
		if !more {
			return
		}
	}
}

// differently adds the roots that objects of one tree deploy, but those of the other do not or in another way, and
// returns the files by whose change the roots are known that these take the place of.
func differently(of, other *Set, roots *[]Root) (files []string) {
	theirs := other.deployed.known()
	for id, one := range of.deployed.known() {
		if same := theirs[id]; same != nil && other.deployed.digest(same) == of.deployed.digest(one) {
			continue
		}
		files = append(files, of.deployed.covers(one)...)
		if r, ok := of.deployed.root(one); ok && of.Selects(r) {
			*roots = append(*roots, r)
		}
	}
	return files
}

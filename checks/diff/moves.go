package diff

import (
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// TookOver reports whether an object that one root removes is the object that another root adds, so that only its
// deployer changes. It is so if a kustomization begins or stops to include the other's folder, or if another object
// deploys the same folder. A file may also move between a folder without a kustomization and a kustomization.
func (t *Trees) TookOver(from, to *Pair) bool {
	a, b := from.Root, to.Root
	switch {
	case a == b:
		return false
	case a.Path == b.Path && a.Object != b.Object:
		return true
	case a.Object != "" || b.Object != "":
		return false
	case a.Kind == roots.Folder || b.Kind == roots.Folder:
		return from.Old.Origin("").Path == to.New.Origin("").Path
	}
	return t.Head.Roots.Includes(b, a) || t.Base.Roots.Includes(a, b)
}

// takenOver matches objects whose root was taken over, see TookOver. It returns the pairs that have a match.
func takenOver(created, deleted map[Key][]*Pair, tookOver func(from, to *Pair) bool, drop map[*Pair]bool,
) map[*Pair]bool {
	done := map[*Pair]bool{}
	for k, gone := range deleted {
		takers := map[*Pair][]*Pair{}
		for _, to := range created[k] {
			var of []*Pair
			for _, from := range gone {
				if tookOver(from, to) && !from.leaves(to) {
					of = append(of, from)
				}
			}
			if len(of) > 0 && !slices.ContainsFunc(of, func(p *Pair) bool { return !same(of[0].Old, p.Old) }) {
				takers[of[0]] = append(takers[of[0]], to)
				done[to] = true
			}
		}
		for from, list := range takers {
			done[from] = true
			if len(list) == 1 {
				update(from, list[0], drop)
				continue
			}
			for _, to := range list { // several roots deploy the object now
				to.follows(from)
			}
		}
	}
	return done
}

// update makes one pair of the removal of an object and of its addition, or none where it is the same.
func update(from, to *Pair, drop map[*Pair]bool) {
	drop[from] = true
	if same(from.Old, to.New) {
		drop[to] = true
		return
	}
	to.Operation, to.Old = admission.Update, from.Old
}

// renamedFolders sets Before where a folder above several roots was renamed. Each former root has at most one
// successor: the one whose path ends most alike. Additional similar objects are new.
func renamedFolders(gone, created []*Pair, stays func(roots.Root) bool) {
	type successor struct {
		to     *Pair
		shared int
	}
	of := map[*Pair]successor{}
	for _, to := range created {
		if to.Operation != admission.Create || to.Before != nil {
			continue
		}
		most, found := 0, (*Pair)(nil)
		for _, from := range gone {
			if stays(from.Root) || from.Root.Kind != to.Root.Kind || from.Root.Object+to.Root.Object != "" {
				continue
			}
			switch n := sharedEnd(from.Root.Path, to.Root.Path); {
			case n > most:
				most, found = n, from
			case n == most:
				found = nil
			}
		}
		switch known := of[found]; {
		case found == nil || most < known.shared:
		case most == known.shared:
			of[found] = successor{nil, most} // several are equally similar, so it is unknown which is the successor
		default:
			of[found] = successor{to, most}
		}
	}
	for from, next := range of {
		if next.to != nil {
			next.to.Before, next.to.From = from.Old, from.Root
		}
	}
}

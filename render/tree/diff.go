package tree

import "strings"

// Difference is one path whose entry differs between two trees.
type Difference struct {
	Path     string
	Old, New *Entry // nil on the side that has none
}

// Diff lists the files and symlinks that differ between two trees of one repository, sorted by path. Folders
// with the same object id are not read: the cost follows the change. Renames are a removal and an addition. What is
// beyond the limits gives *TooManyError or *TooDeepError.
func Diff(from, to *Tree) ([]Difference, error) {
	var list []Difference
	err := diff(from.objects, "", from.root, to.root, from.objects.newBudget(), &list)
	return list, err
}

func diff(o *Objects, dir, a, b string, left *budget, out *[]Difference) error {
	if a == b {
		return nil
	}
	as, err := o.entries(a)
	if err != nil {
		return err
	}
	bs, err := o.entries(b)
	if err != nil {
		return err
	}
	if err := left.spend(dir, max(len(as), len(bs))); err != nil {
		return err
	}
	for len(as) > 0 || len(bs) > 0 {
		var x, y *Entry
		switch c := compareHeads(as, bs); {
		case c < 0:
			x, as = &as[0], as[1:]
		case c > 0:
			y, bs = &bs[0], bs[1:]
		default:
			x, as = &as[0], as[1:]
			y, bs = &bs[0], bs[1:]
		}
		if err := diffEntry(o, dir, x, y, left, out); err != nil {
			return err
		}
	}
	return nil
}

func compareHeads(as, bs []Entry) int {
	switch {
	case len(as) == 0:
		return 1
	case len(bs) == 0:
		return -1
	default:
		return strings.Compare(as[0].Name, bs[0].Name)
	}
}

func diffEntry(o *Objects, dir string, x, y *Entry, left *budget, out *[]Difference) error {
	var xDir, yDir string
	if x != nil && x.Kind == Dir {
		xDir = x.ID
	}
	if y != nil && y.Kind == Dir {
		yDir = y.ID
	}
	name := ""
	if x != nil {
		name = x.Name
	} else {
		name = y.Name
	}
	leafX, leafY := leaf(x), leaf(y)
	if (leafX != nil || leafY != nil) && (leafX == nil || leafY == nil || *leafX != *leafY) {
		*out = append(*out, Difference{Path: dir + name, Old: leafX, New: leafY})
	}
	if xDir != "" || yDir != "" {
		return diff(o, dir+name+"/", xDir, yDir, left, out)
	}
	return nil
}

// leaf keeps what Walk would visit.
func leaf(e *Entry) *Entry {
	if e == nil || e.Kind == Dir || e.Kind == Submodule {
		return nil
	}
	return e
}

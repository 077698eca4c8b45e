package tree

import "cmp"

// Difference is one path whose entry differs between two trees.
type Difference struct {
	Path     string
	Old, New *Entry // nil on a side without an entry
}

// Diff lists the files and symlinks that differ between two trees of one repository, sorted by path. Folders with the
// same object id are not read, so the cost depends on the size of the change. A rename is a removal and an addition. It
// fails with *TooManyError or *TooDeepError beyond the limits.
func Diff(from, to *Tree) ([]Difference, error) { return differences(from, to, leaf) }

// Submodules lists the submodules that differ between two trees, sorted by path. Diff does not list them, because their
// files are in other repositories.
func Submodules(from, to *Tree) ([]Difference, error) { return differences(from, to, submodule) }

func differences(from, to *Tree, keep func(Kind) bool) (list []Difference, _ error) {
	c := comparison{from.objects, from.objects.newBudget(), keep, func(d Difference) error {
		list = append(list, d)
		return nil
	}}
	err := c.folders("", from.root, to.root)
	return list, err
}

// comparison is a walk through two trees at the same time.
type comparison struct {
	*Objects
	left  *budget
	keep  func(Kind) bool // selects the entries that are visited
	visit func(Difference) error
}

func (c comparison) folders(dir, a, b string) error {
	if a == b {
		return nil
	}
	as, err := c.entries(a)
	if err != nil {
		return err
	}
	bs, err := c.entries(b)
	if err != nil {
		return err
	}
	if err := c.left.spend(dir, max(len(as), len(bs))); err != nil {
		return err
	}
	for len(as) > 0 || len(bs) > 0 {
		var x, y *Entry
		if len(bs) == 0 || len(as) > 0 && as[0].Name <= bs[0].Name {
			x, as = &as[0], as[1:]
		}
		if len(bs) > 0 && (x == nil || x.Name == bs[0].Name) {
			y, bs = &bs[0], bs[1:]
		}
		if err := c.entry(dir, x, y); err != nil {
			return err
		}
	}
	return nil
}

func (c comparison) entry(dir string, x, y *Entry) error {
	if x != nil && y != nil && *x == *y {
		return nil
	}
	p := dir + cmp.Or(x, y).Name
	if old, now := only(x, c.keep), only(y, c.keep); old != nil || now != nil {
		if err := c.visit(Difference{Path: p, Old: old, New: now}); err != nil {
			return err
		}
	}
	a, b := cmp.Or(only(x, folder), &Entry{}), cmp.Or(only(y, folder), &Entry{})
	return c.folders(p+"/", a.ID, b.ID)
}

// only returns the entry if keep selects its kind, else nil.
func only(e *Entry, keep func(Kind) bool) *Entry {
	if e == nil || !keep(e.Kind) {
		return nil
	}
	return e
}

// leaf selects the entries that Walk visits.
func leaf(k Kind) bool { return k == File || k == Symlink }

func submodule(k Kind) bool { return k == Submodule }

func folder(k Kind) bool { return k == Dir }

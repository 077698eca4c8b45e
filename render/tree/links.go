package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
)

// Reader is what of a Tree it takes to find symlinks.
type Reader interface {
	Lookup(p string) (string, Entry, error)
	ReadDir(p string) ([]Entry, error)
}

// Link is a symlink and what it leads to.
type Link struct {
	Path string // of the symlink
	Real string // where it leads; empty: to nothing in the tree
	Entry
}

// maxLinked bounds the folders that Links looks at.
const maxLinked = 20_000

// Links lists the symlinks in a folder and in the folders in it, and in those that they lead to. The object id of a
// folder does not say what they lead to: whoever keeps something by that id has to compare these, too. What is no folder
// has none. The error is *TooManyError for more folders than anybody has, or the repository's.
func Links(t Reader, dir string) (list []Link, err error) {
	seen := map[string]bool{}
	var walk func(dir string) error
	walk = func(dir string) error {
		if seen[dir] {
			return nil
		}
		if seen[dir] = true; len(seen) > maxLinked {
			return &TooManyError{Limit: maxLinked}
		}
		entries, err := t.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := path.Join(dir, e.Name)
			switch e.Kind {
			case Dir:
				if err := walk(p); err != nil {
					return err
				}
			case Symlink:
				l := Link{Path: p}
				if l.Real, l.Entry, err = t.Lookup(p); err != nil && !errors.Is(err, ErrNotExist) {
					return err
				}
				if err != nil {
					l.Real = ""
				}
				list = append(list, l)
				if l.Real != "" && l.Kind == Dir {
					if err := walk(l.Real); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	real, e, err := t.Lookup(dir)
	switch {
	case errors.Is(err, ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case e.Kind != Dir:
		return nil, nil
	}
	return list, walk(real)
}

// State distinguishes what may be at a path, the targets of symlinks included; it is
// empty where nothing is there, or nothing that can be read.
func State(t Reader, p string) string {
	_, e, err := t.Lookup(p)
	if err != nil {
		return ""
	}
	links, err := Links(t, p)
	if err != nil {
		return ""
	}
	return e.State(links)
}

// State is the function State for what is at a path, and the links in it.
func (e Entry) State(links []Link) string {
	if len(links) == 0 {
		return e.ID
	}
	h := sha256.New()
	fmt.Fprintln(h, e.ID)
	for _, l := range links {
		fmt.Fprintf(h, "%q %q %d %s\n", l.Path, l.Real, l.Kind, l.ID)
	}
	return hex.EncodeToString(h.Sum(nil))
}

package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
)

// Reader has the methods of a Tree that Links needs.
type Reader interface {
	Lookup(p string) (string, Entry, error)
	ReadDir(p string) ([]Entry, error)
}

// Link is a symlink and its target.
type Link struct {
	Path string // of the symlink
	Real string // the target; empty: it does not exist in the tree
	Entry
}

// maxLinked limits the number of folders that Links reads.
const maxLinked = 20_000

// Links lists the symlinks in a folder, in folders below it, and in folders that they point to. The object id of a
// folder does not depend on the targets, so a cache by that id must compare these, too. For a file the list is empty.
// It fails with *TooManyError beyond the limit, or with an error of the repository.
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
				list = append(list, l)
				if l.Kind == Dir {
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

// State identifies the content at a path, including the targets of symlinks. It is empty where the path does not exist
// or cannot be read.
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

// State is the function State for an entry and its symlinks.
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

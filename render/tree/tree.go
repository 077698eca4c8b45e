package tree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kind is what an entry of a folder is.
type Kind int

// The kinds of entries in git.
const (
	File Kind = iota
	Dir
	Symlink
	Submodule
)

// kinds are the kinds of git's modes. Any other mode is a file.
var kinds = map[string]Kind{"40000": Dir, "120000": Symlink, "160000": Submodule}

// Entry is one name in a folder.
type Entry struct {
	Name string
	Kind Kind
	ID   string // git object id
}

// Tree is the folder of one commit. Paths are slash-separated and relative to the root; "." is the root.
// It is safe for concurrent use.
type Tree struct {
	objects *Objects
	root    string
}

// ID is the object id of the root folder, empty for an empty tree.
func (t *Tree) ID() string { return t.root }

// BlobLimit returns the current maximum size in bytes of files that are read.
func (t *Tree) BlobLimit() int64 { return t.objects.blobLimit() }

// Err returns the error that kept part of the repository from being read: see Objects.Err.
func (t *Tree) Err() error { return t.objects.Err() }

// Blobs is Objects.Blobs.
func (t *Tree) Blobs(ids []string) []Content { return t.objects.Blobs(ids) }

// Empty is Objects.Empty.
func (t *Tree) Empty() *Tree { return t.objects.Empty() }

// Sibling opens another tree of the same repository by its object id. It fails with ErrNoObject if the repository does
// not have it.
func (t *Tree) Sibling(id string) (*Tree, error) {
	if _, err := t.objects.entries(id); err != nil {
		return nil, err
	}
	return &Tree{objects: t.objects, root: id}, nil
}

// parseTree reads git's tree format: "<mode> <name>\0<raw id>" repeated.
func parseTree(data []byte, idLen int) ([]Entry, error) {
	var list []Entry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if !ok || len(rest) < idLen || name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return nil, errors.New("a folder object of the repository is damaged")
		}
		list = append(list, Entry{Name: name, Kind: kinds[mode], ID: hex.EncodeToString(rest[:idLen])})
		data = rest[idLen:]
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Clean makes a path of the repository canonical. It returns false for a path out of the repository.
func Clean(p string) (string, bool) {
	if strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
		return "", false
	}
	p = path.Clean(p)
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", false
	}
	return p, true
}

// Limits of symlinks, as in Linux: path_resolution(7).
const (
	maxLinks  = 40
	maxTarget = 4096 // bytes
)

// Lookup returns the entry at a path and the path of its target, following symlinks inside the tree. The error is
// ErrNotExist where nothing is there, where a symlink leads out of the repository or in circles, and below files and
// submodules.
func (t *Tree) Lookup(p string) (string, Entry, error) {
	links := 0
	return t.lookup(p, true, &links)
}

// Entry is Lookup without following a symlink in the last element.
func (t *Tree) Entry(p string) (Entry, error) {
	links := 0
	_, e, err := t.lookup(p, false, &links)
	return e, err
}

func (t *Tree) lookup(p string, follow bool, links *int) (string, Entry, error) {
	clean, ok := Clean(p)
	if !ok {
		return "", Entry{}, fmt.Errorf("%s points outside the repository: %w", p, ErrNotExist)
	}
	at := Entry{Name: ".", Kind: Dir, ID: t.root}
	if clean == "." {
		return ".", at, nil
	}
	for from := 0; from < len(clean); {
		end, last := len(clean), true
		if i := strings.IndexByte(clean[from:], '/'); i >= 0 {
			end, last = from+i, false
		}
		name, here := clean[from:end], clean[:max(0, from-1)]
		if at.Kind != Dir {
			return "", Entry{}, fmt.Errorf("%s: %w", clean, ErrNotExist)
		}
		list, err := t.objects.entries(at.ID)
		if err != nil {
			return "", Entry{}, t.objects.remember(err)
		}
		k, found := slices.BinarySearchFunc(list, name, func(e Entry, n string) int { return strings.Compare(e.Name, n) })
		if !found {
			return "", Entry{}, fmt.Errorf("%s: %w", clean, ErrNotExist)
		}
		at, from = list[k], end+1
		if at.Kind != Symlink || last && !follow {
			continue
		}
		if *links++; *links > maxLinks {
			return "", Entry{}, fmt.Errorf("%s is a loop of symlinks: %w", clean, ErrNotExist)
		}
		target, err := t.objects.Blob(at.ID)
		var large *TooLargeError
		if err != nil && !errors.As(err, &large) {
			return "", Entry{}, t.objects.remember(err)
		}
		if err != nil || len(target) > maxTarget {
			return "", Entry{}, fmt.Errorf("%s is a symlink whose target does not exist: "+
				"%w", path.Join(here, name), ErrNotExist)
		}
		if strings.HasPrefix(string(target), "/") {
			return "", Entry{}, fmt.Errorf("%s is a symlink to a place outside the repository: "+
				"%w", path.Join(here, name), ErrNotExist)
		}
		return t.lookup(path.Join(here, string(target), clean[min(from, len(clean)):]), follow, links)
	}
	return clean, at, nil
}

// ReadFile reads the file at a path, following symlinks, and returns its object id, too. The content is
// shared: do not change it. A file over the limit gives *TooLargeError.
func (t *Tree) ReadFile(p string) ([]byte, string, error) {
	_, e, err := t.Lookup(p)
	if err != nil {
		return nil, "", err
	}
	if e.Kind != File {
		return nil, "", fmt.Errorf("%s is not a file: %w", p, ErrNotExist)
	}
	data, err := t.objects.Blob(e.ID)
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return nil, e.ID, &TooLargeError{Path: p, Size: large.Size, Limit: large.Limit}
	}
	return data, e.ID, err
}

// ReadDir lists the folder at a path, following symlinks, sorted by name.
func (t *Tree) ReadDir(p string) ([]Entry, error) {
	_, e, err := t.Lookup(p)
	if err != nil {
		return nil, err
	}
	if e.Kind != Dir {
		return nil, fmt.Errorf("%s is not a folder: %w", p, ErrNotExist)
	}
	list, err := t.objects.entries(e.ID)
	return list, t.objects.remember(err)
}

// Walk calls visit for every file and symlink of the tree, in order of their paths, without following links. An error
// of visit ends the walk and is returned. A tree beyond the limits gives *TooManyError or *TooDeepError.
func (t *Tree) Walk(visit func(p string, e Entry) error) error {
	var stop error
	c := comparison{t.objects, t.objects.newBudget(), leaf, func(d Difference) error {
		stop = visit(d.Path, *d.New)
		return stop
	}}
	if err := c.folders("", "", t.root); stop == nil {
		return t.objects.remember(err)
	}
	return stop
}

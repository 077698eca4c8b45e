// Package diagnostics finds what in the sources of a root made kustomize refuse it, and says it in words that name
// the line and what to write there.
//
// It works after a build has failed, never before, and decides nothing: kustomize's verdict stands. Where kustomize
// stumbled is found by building again with fewer and fewer entries, so that it needs no reading of error texts; why, by
// looking at the entry with which the build first fails. Where that shows nothing, kustomize's own words stand on the
// line of the entry.
//
// The words name no lines and no positions in lists: an edit elsewhere in a file does not make another problem of one.
package diagnostics

import (
	"errors"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

const (
	// maxBuilds and maxTime limit the search for one problem: a list of a thousand entries takes ten builds.
	maxBuilds = 100
	maxTime   = 10 * time.Second
	// maxProblems limits the problems reported for one kustomization.
	maxProblems = 10
)

// Repository is a finder's access to a repository. Links in paths are already resolved, unless stated otherwise.
type Repository interface {
	// Build builds the kustomization of a folder, with other contents of some files, and returns the objects. The error
	// is kustomize's.
	Build(dir string, files map[string][]byte) ([]*yaml.Node, error)
	// Read returns the content of a file.
	Read(name string) ([]byte, error)
	// Kustomization returns the parsed file of a folder, nil if it has none.
	Kustomization(dir string) (*kustomization.File, error)
	// Lookup resolves the links of a path and returns what is there.
	Lookup(name string) (real string, _ tree.Entry, _ error)
	// Unrestricted reports whether kustomizations may read files outside of their folders.
	Unrestricted() bool
}

// Finder finds the problems of the kustomizations of one tree. It is safe for concurrent use, and caches its results,
// so that a problem in a base is not searched again for each overlay.
type Finder struct {
	Limits doc.Limits

	known sync.Map // by folder: the list of its problems; nil: it builds
}

// Find returns the problems that keep the kustomization of a folder from being built, at least one. files are the
// kustomizations that it consists of, by path; manifests are the other files that it parses; failure is kustomize's
// error.
func (f *Finder) Find(repo Repository, dir string, files map[string]*kustomization.File, manifests map[string]bool,
	failure error,
) []doc.Error {
	if list := f.unreadable(repo, files, manifests); len(list) > 0 {
		return list
	}
	s := &search{finder: f, repo: repo, top: dir, with: map[string][]byte{}, until: time.Now().Add(maxTime)}
	if list := s.folder(dir, failure); len(list) > 0 {
		return list
	}
	at := doc.Error{Path: dir, Message: "kustomize cannot build this: " + Clean(failure)}
	if own, err := repo.Kustomization(dir); err == nil && own != nil {
		at.Path, at.Line = own.Path, 1
	}
	return []doc.Error{at}
}

// unreadable returns the problems that keep files from being read at all, for all of the files.
func (f *Finder) unreadable(repo Repository, files map[string]*kustomization.File, manifests map[string]bool,
) (list []doc.Error) {
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		data, err := repo.Read(name)
		if err != nil {
			continue
		}
		var e *doc.Error
		if _, err := doc.Parse(name, data, f.Limits); errors.As(err, &e) {
			list = append(list, *e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, misread(files[name])...)
	}
	return list
}

// remembered returns the cached result for a folder.
func (f *Finder) remembered(dir string) ([]doc.Error, bool) {
	list, ok := f.known.Load(dir)
	if !ok {
		return nil, false
	}
	return list.([]doc.Error), true
}

func (f *Finder) remember(dir string, list []doc.Error) []doc.Error {
	f.known.Store(dir, list)
	return list
}

// named returns where a path in a kustomization leads: its path with links resolved and what is there.
func named(repo Repository, f *kustomization.File, value string) (string, tree.Entry, bool) {
	name, ok := tree.Clean(path.Join(f.Dir, value))
	if !ok {
		return "", tree.Entry{}, false
	}
	real, e, err := repo.Lookup(name)
	return real, e, err == nil
}

// documents parses the file at a path without links; nil if it cannot be read or is empty.
func (s *search) documents(real string) []*yaml.Node {
	data, err := s.repo.Read(real)
	if err != nil {
		return nil
	}
	documents, err := doc.Parse(real, data, s.finder.Limits)
	if err != nil {
		return nil
	}
	return documents
}

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
	"sort"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// order lists the fields of a kustomization in the order in which kustomize processes them, options first. A later
// field never makes an earlier one fail.
var order = []string{"openapi", "generatorOptions", "sortOptions", "buildMetadata", "resources", "bases",
	"configurations", "crds", "configMapGenerator", "secretGenerator", "generators", "components",
	"patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "commonLabels", "labels",
	"commonAnnotations", "patchesJson6902", "replicas", "images", "imageTags", "replacements", "transformers",
	"validators", "vars"}

// repeatable are the fields whose entries are checked one by one: once a wrong entry is left out, the following ones
// are checked as well.
var repeatable = []string{"patchesStrategicMerge", "patches", "patchesJson6902", "replicas", "images", "imageTags",
	"replacements", "labels", "configMapGenerator", "secretGenerator"}

var errSpent = errors.New("the search for the cause took too long")

// search is the search for the problems of one root.
type search struct {
	finder *Finder
	repo   Repository
	top    string            // the folder that is built
	with   map[string][]byte // files with other contents for the builds
	builds int
	until  time.Time
}

// build builds the folder with another content of one file.
func (s *search) build(name string, content []byte) ([]*yaml.Node, error) {
	if s.builds++; s.builds > maxBuilds || time.Now().After(s.until) {
		return nil, errSpent
	}
	files := maps.Clone(s.with)
	files[name] = content
	return s.repo.Build(s.top, files)
}

// folder finds the problems of a folder that is built by itself. failure is why it does not build; nil: try it.
func (s *search) folder(dir string, failure error) []doc.Error {
	return s.finder.known.Get(dir, func() []doc.Error {
		if failure == nil {
			if _, failure = s.repo.Build(dir, nil); failure == nil {
				return nil
			}
		}
		f, err := s.repo.Kustomization(dir)
		if err != nil || f == nil {
			return nil
		}
		inner := &search{finder: s.finder, repo: s.repo, top: dir, with: map[string][]byte{}, builds: s.builds, until: s.until}
		list := inner.layer(f, failure)
		s.builds = inner.builds
		return list
	})
}

// entry is one entry of a kustomization: an item of a list, or the value of another field.
type entry struct {
	field string
	index int // in the list; -1: it is the whole value
	key   *yaml.Node
	node  *yaml.Node
}

// entries lists the entries of a kustomization in the order in which kustomize works them off.
func entries(f *kustomization.File) (list []entry) {
	for _, field := range order {
		key, value := doc.Field(f.Node, field)
		if value == nil {
			continue
		}
		if value.Kind != yaml.SequenceNode {
			list = append(list, entry{field, -1, key, value})
			continue
		}
		for i, item := range value.Content {
			list = append(list, entry{field, i, key, item})
		}
	}
	return list
}

// layer finds the problems of one kustomization, nil if none of its entries makes the build fail.
func (s *search) layer(f *kustomization.File, failure error) (found []doc.Error) {
	list := entries(f)
	for len(found) < maxProblems {
		c, ok := s.culprit(f, list)
		if !ok {
			break
		}
		if c.failure == nil {
			c.failure = failure
		}
		found = append(found, s.explain(c)...)
		if !slices.Contains(repeatable, c.field) {
			break
		}
		list = slices.Delete(slices.Clone(list), len(c.before), len(c.before)+1)
		if _, err := s.build(f.Path, written(f, list)); err == nil {
			break
		}
	}
	return found
}

// culprit is the entry with which a build first fails.
type culprit struct {
	entry
	file    *kustomization.File
	before  []entry      // those that come before it
	objects []*yaml.Node // the objects built from the entries before it
	failure error        // with it

	unrestricted bool // files may be anywhere
}

// culprit finds the first entry with which the build fails. All later entries are left out of the builds.
func (s *search) culprit(f *kustomization.File, list []entry) (culprit, bool) {
	objects := map[int][]*yaml.Node{}
	failures := map[int]error{}
	n, ok := s.first(len(list), func(n int) error {
		var err error
		objects[n], err = s.build(f.Path, written(f, list[:n]))
		failures[n] = err
		return err
	})
	if !ok {
		return culprit{}, false
	}
	return culprit{list[n-1], f, list[:n-1], objects[n-1], failures[n], s.repo.Unrestricted()}, true
}

// first returns the smallest n from 1 to most for which a build fails. ok is false if it fails with none or succeeds
// with all of them.
func (s *search) first(most int, build func(n int) error) (int, bool) {
	n, ok := s.least(most, build)
	if !ok || n == 1 && build(0) != nil {
		return 0, false
	}
	return n, true
}

// least returns the smallest n from 1 to most for which a build fails. ok is false if it succeeds with all.
func (s *search) least(most int, build func(n int) error) (int, bool) {
	spent := false
	n := 1 + sort.Search(most, func(n int) bool {
		err := build(1 + n)
		spent = spent || errors.Is(err, errSpent)
		return err != nil
	})
	return n, n <= most && !spent
}

// written returns the text of a kustomization with some of its entries.
func written(f *kustomization.File, list []entry) []byte {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range []string{"apiVersion", "kind"} {
		if _, value := doc.Field(f.Node, name); value != nil {
			out.Content = append(out.Content, text(name), doc.Bare(value))
		}
	}
	// Without any other field the kustomization is empty, which kustomize refuses.
	out.Content = append(out.Content, text("metadata"),
		&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("name"), text("lintel")}})
	for i, e := range list {
		switch {
		case e.index < 0:
			out.Content = append(out.Content, text(e.field), doc.Bare(e.node))
		case i == 0 || list[i-1].field != e.field:
			out.Content = append(out.Content, text(e.field),
				&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{doc.Bare(e.node)}})
		default:
			last := out.Content[len(out.Content)-1]
			last.Content = append(last.Content, doc.Bare(e.node))
		}
	}
	return encoded(out)
}

// encoded is a node as YAML.
func encoded(list ...*yaml.Node) []byte {
	var out []byte
	for i, n := range list {
		if i > 0 {
			out = append(out, "---\n"...)
		}
		data, err := yaml.Marshal(n)
		if err != nil {
			return nil
		}
		out = append(out, data...)
	}
	return out
}

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// with returns a copy of a map in which a field has another value.
func with(n *yaml.Node, field string, value *yaml.Node) *yaml.Node {
	c := doc.Bare(n)
	for i := 0; i+1 < len(c.Content); i += 2 {
		if c.Content[i].Value == field {
			c.Content[i+1] = value
		}
	}
	return c
}

// attempt builds with another entry in place of the culprit.
func (s *search) attempt(c culprit, node *yaml.Node) ([]*yaml.Node, error) {
	changed := c.entry
	changed.node = node
	return s.build(c.file.Path, written(c.file, append(slices.Clone(c.before), changed)))
}

// attemptFile builds up to the culprit, with other documents in a file that it names.
func (s *search) attemptFile(c culprit, name string, documents []*yaml.Node) ([]*yaml.Node, error) {
	saved := s.with
	s.with = maps.Clone(saved)
	defer func() { s.with = saved }()
	s.with[name] = encoded(documents...)
	return s.build(c.file.Path, written(c.file, append(slices.Clone(c.before), c.entry)))
}

// item finds the first item of a list in the entry with which the build fails.
func (s *search) item(c culprit, field string) (*yaml.Node, bool) {
	_, list := doc.Field(c.node, field)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, false
	}
	n, ok := s.first(len(list.Content), func(n int) error {
		short := doc.Bare(list)
		short.Content = short.Content[:n]
		_, err := s.attempt(c, with(c.node, field, short))
		return err
	})
	if !ok {
		return nil, false
	}
	return list.Content[n-1], true
}

// below finds the problems in a base or component that an entry includes: a base is built by itself, a component
// together with the kustomization that includes it. It returns nil if the problems are elsewhere.
func (s *search) below(c culprit) []doc.Error {
	real, e, ok := named(s.repo, c.file, c.node.Value)
	if !ok || e.Kind != tree.Dir {
		return nil
	}
	if c.field != "components" {
		return s.folder(real, nil)
	}
	f, err := s.repo.Kustomization(real)
	if err != nil || f == nil {
		return nil
	}
	inner := *s
	inner.with = maps.Clone(s.with)
	inner.with[c.file.Path] = written(c.file, append(slices.Clone(c.before), c.entry))
	list := inner.layer(f, c.failure)
	s.builds = inner.builds
	return list
}

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

	known env.Memo[string, []doc.Error] // by folder: its problems; none: it builds
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

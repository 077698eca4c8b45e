// Package remote describes what a repository uses from remote sources, stores what was fetched, and reads it.
//
// Nothing here fetches. A rendering asks Sources for a want and records missing ones. A process outside of the sandbox fetches
// these into a store (see package fetch), and the rendering runs again with a lock that has them. Every remote source is a tree
// of git objects, whatever its format was: the commit of a repository, the files of a chart, or a single file.
package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/lintel-bot/lintel/render/tree"
)

// Kind is the kind of a want.
type Kind string

// The kinds of wants.
const (
	Git   Kind = "git"   // the files of a git repository at a revision
	Chart Kind = "chart" // the files of a Helm chart, its Chart.yaml at the top
	File  Kind = "file"  // one file over https; its name in the tree is FileName
)

// Prefixes of a Ref that is a range of versions. It means the tag of the newest version in the range, of a git
// repository or of a registry whose tags are not named as Helm expects. A "v" may precede the version.
const (
	Versions      = "semver:"   // complete versions, as Flux reads tags
	ShortVersions = "versions:" // short ones as well, as in Argo CD
)

// FileName is the name of the only entry in the tree of a File.
const FileName = "content"

// Want is something to be fetched. It is comparable: equal wants are the same.
type Want struct {
	Kind Kind `json:"kind"`
	// URL is the address: of a git repository as written (https, ssh, scp-like), of a chart repository (https), of a
	// chart in a registry with its name and without tag (oci), or of a file (https).
	URL string `json:"url"`
	// Name is the name of a chart in a chart repository; else it is empty.
	Name string `json:"name,omitempty"`
	// Ref is a branch, a tag, a full reference or a commit of git, or the version of a chart: a range for Helm, or a
	// digest ("sha256:" and hex). Both may be a range of tags, see Versions. Empty: the default branch, or the newest
	// version.
	Ref string `json:"ref,omitempty"`
	// Tag means that Ref is a tag of a registry, and not a range.
	Tag bool `json:"tag,omitempty"`
	// Filter is a regular expression for tags of a registry. A range of Versions ignores other tags. Empty: no tag is
	// ignored.
	Filter string `json:"filter,omitempty"`
	// Submodules means that submodules of a git repository are fetched, too.
	Submodules bool `json:"submodules,omitempty"`
}

// Asked is a want and why it is wanted.
type Asked struct {
	Want Want `json:"want"`
	Base bool `json:"base,omitempty"` // the base wants it, regardless of the change
	// Given means that the caller named it, and not a file of the repository.
	Given bool `json:"given,omitempty"`
	// Preview means that only a preview wants it, for roots that the change does not touch. It is not waited for long.
	Preview bool `json:"preview,omitempty"`
}

// Request has the wants that must be fetched to render everything.
type Request struct {
	Wants []Asked `json:"wants"`
	// Allow limits what may be fetched of wants that are not Given: a pattern must match the address. nil: no limit.
	Allow []string `json:"allow"`
}

var userInfo = regexp.MustCompile(`://[^/?#\s]*@`)

// Redacted returns an address without possible passwords, for messages. The address need not be valid.
func Redacted(address string) string { return userInfo.ReplaceAllLiteralString(address, "://") }

// String describes a want without possible passwords.
func (w Want) String() string {
	w.URL = Redacted(w.URL)
	switch {
	case w.Kind == Chart && w.Name != "":
		return fmt.Sprintf("chart %s %s of %s", w.Name, cmp.Or(w.Ref, "(newest)"), w.URL)
	case w.Ref != "":
		return fmt.Sprintf("%s at %s", w.URL, w.Ref)
	}
	return w.URL
}

// Compare orders wants.
func Compare(a, b Want) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Ref, b.Ref), cmp.Compare(strconv.FormatBool(a.Tag), strconv.FormatBool(b.Tag)),
		cmp.Compare(a.Filter, b.Filter), cmp.Compare(strconv.FormatBool(a.Submodules), strconv.FormatBool(b.Submodules)))
}

// Failure says why a want could not be fetched. Its message is one sentence without the address and without secrets.
type Failure struct {
	Message string `json:"message"`
	// Broken means that the wanted thing does not exist (404, no such version or revision, not a chart, a wrong
	// digest), so that it would not deploy, either. Otherwise only the operator or the cluster can know: credentials,
	// the allow-list, no answer, limits.
	Broken bool `json:"broken,omitempty"`
	// Passing means that a later try may succeed: the source did not answer, or there was no time.
	Passing bool `json:"passing,omitempty"`
	// Own means that it only concerns the current caller: another one may get the want.
	Own bool `json:"-"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Entry is the result for one want.
type Entry struct {
	Want     Want   `json:"want"`
	Tree     string `json:"tree,omitempty"`     // the git object id of the tree in the store
	Revision string `json:"revision,omitempty"` // the commit, or the chart's version
	Digest   string `json:"digest,omitempty"`   // digest of a packed chart or a file as received: "sha256:" and hex
	// Changed is the digest that the same exact version or digest had when it was first fetched, if it differs.
	Changed string   `json:"changed,omitempty"`
	Failure *Failure `json:"failure,omitempty"` // nil: Tree exists
}

// Lock has the results for wants at one moment. Base and head are rendered with the same lock, so that a moving
// reference is the same for both.
type Lock []Entry

// ErrWanted means that a want has not been tried yet. It is recorded in Sources.Wanted.
var ErrWanted = errors.New("has not been fetched")

// Source is a fetched source.
type Source struct {
	Entry
	Tree *tree.Tree
}

// Sources reads the sources of a lock and records missing ones. It is safe for concurrent use. The nil Sources has
// nothing and records nothing.
type Sources struct {
	// Provisional means that everything is rendered again if something was missing. So what depends on a missing source
	// need not be rendered without it.
	Provisional bool
	Base        bool // the base wants them, see Asked

	trees   func(id string) (*tree.Tree, error)
	results *results
	mu      sync.Mutex
	missed  map[Want]bool // requested wants that were missing
	given   map[Want]bool
}

// results are the results for wants. All Sources of a check share them, so that they see the same content.
type results struct {
	mu    sync.Mutex
	known map[Want]Entry
	ask   func(Asked) (Entry, bool) // see Sources.Ask; nil: there is nobody to ask
	open  map[Asked]bool            // what ask could not answer
	told  map[Asked]Entry           // what it did
}

// New returns the sources of a lock. trees opens a tree of the store by its object id.
func New(lock Lock, trees func(id string) (*tree.Tree, error)) *Sources {
	s := &Sources{trees: trees, results: &results{known: map[Want]Entry{}, told: map[Asked]Entry{}}}
	s = s.Aside()
	for _, e := range lock {
		s.results.known[e.Want] = e
	}
	return s
}

// Ask sets what is asked for the wants that the lock lacks. It returns false for a want that must be fetched first.
func (s *Sources) Ask(ask func(Asked) (Entry, bool)) {
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	s.results.ask, s.results.open = ask, map[Asked]bool{}
}

// Told returns the wants that the function of Ask answered, with its answers.
func (s *Sources) Told() map[Asked]Entry {
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	return maps.Clone(s.results.told)
}

// result returns the result for a want, if it is known or can be had without fetching.
func (s *Sources) result(w Want) (Entry, bool) {
	r, asked := s.results, Asked{Want: w, Base: s.Base, Given: s.IsGiven(w)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.known[w]; ok || r.ask == nil || r.open[asked] {
		return e, ok
	}
	e, ok := r.ask(asked)
	if !ok {
		r.open[asked] = true
		return Entry{}, false
	}
	r.known[w], r.told[asked] = e, e
	return e, true
}

// Get returns the source for a want. The error is ErrWanted where it was not tried, a *Failure where it could not be
// fetched, and another error where the store cannot be read.
func (s *Sources) Get(w Want) (*Source, error) {
	if s == nil {
		return nil, ErrWanted
	}
	e, ok := s.result(w)
	switch {
	case !ok:
		s.note(s.missed, w)
		return nil, ErrWanted
	case e.Failure != nil:
		return nil, e.Failure
	}
	t, err := s.trees(e.Tree)
	if err != nil {
		return nil, fmt.Errorf("reading what was fetched of %s: %w", w, err)
	}
	return &Source{Entry: e, Tree: t}, nil
}

// Aside returns sources with the same lock that record missing ones separately, for callers that only look whether a
// source is there.
func (s *Sources) Aside() *Sources {
	if s == nil {
		return nil
	}
	return &Sources{Provisional: s.Provisional, Base: s.Base, trees: s.trees, results: s.results, missed: map[Want]bool{}, given: map[Want]bool{}}
}

// note adds a want to a set.
func (s *Sources) note(wants map[Want]bool, w Want) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wants[w] = true
}

// MarkGiven records that the caller named a want (see Asked).
func (s *Sources) MarkGiven(w Want) {
	if s != nil {
		s.note(s.given, w)
	}
}

// IsGiven reports whether MarkGiven was called for a want.
func (s *Sources) IsGiven(w Want) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given[w]
}

// Digest identifies the result for a want; empty: it was not tried. It does not record the want.
func (s *Sources) Digest(w Want) string {
	if s == nil {
		return ""
	}
	e, ok := s.result(w)
	if !ok {
		return ""
	}
	return e.digest()
}

// digest identifies the content of an entry.
func (e Entry) digest() string {
	data, _ := json.Marshal(e) // it has only texts and truth values
	return string(data)
}

// ID identifies the results for all wants. It is empty for the nil Sources.
func (s *Sources) ID() string {
	if s == nil {
		return ""
	}
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	sum := sha256.New()
	for _, w := range slices.SortedFunc(maps.Keys(s.results.known), Compare) {
		fmt.Fprintln(sum, s.results.known[w].digest())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Wanted lists the requested wants that were missing, sorted: also those for which Ask had an answer later.
func (s *Sources) Wanted() []Want {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.missed), Compare)
}

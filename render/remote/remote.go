// Package remote says what a repository takes from outside of it, keeps what was fetched of that, and reads it.
//
// Nothing here fetches. Whoever renders asks Sources for a want; what is not there is noted, somebody outside of the
// sandbox fetches it into a store (see package fetch), and the rendering runs again with a lock that has it. Everything
// from outside is a tree of git objects, whatever it was packed in: the commit of a repository, the files of a chart, a
// single file.
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

// Kind is what is wanted.
type Kind string

// The kinds.
const (
	Git   Kind = "git"   // the files of a git repository at a revision
	Chart Kind = "chart" // the files of a Helm chart, its Chart.yaml at the top
	File  Kind = "file"  // one file over https; the tree has it as FileName
)

// What a Ref begins with that is a range of versions: the tag of the newest in it counts, as it is now. It is one of a
// git repository, or of a registry in which tags are not what Helm makes of versions. A "v" may stand before a version.
const (
	Versions      = "semver:"   // whole versions, as Flux reads tags
	ShortVersions = "versions:" // short ones as well, as Argo CD does
)

// FileName is the name of the only entry in the tree of a File.
const FileName = "content"

// Want is one thing from outside. It is comparable: equal wants are one.
type Want struct {
	Kind Kind `json:"kind"`
	// URL is the address: of a git repository as its asker has it (https, ssh, scp-like), of a chart repository
	// (https), of a chart in a registry, its name included and no tag (oci), or of a file (https).
	URL string `json:"url"`
	// Name is that of a chart in a chart repository; else it is empty.
	Name string `json:"name,omitempty"`
	// Ref is a branch, a tag, a full reference or a commit of git, or the version of a chart: a range as Helm reads it,
	// or a digest ("sha256:" and hex). For both it can be a range of tags, see Versions. Empty: the default branch, the
	// newest version.
	Ref string `json:"ref,omitempty"`
	// Tag means that Ref is a tag of a registry as it is, and no range.
	Tag bool `json:"tag,omitempty"`
	// Filter is a regular expression for tags of a registry: others are not there for a range of Versions. Empty: all are.
	Filter string `json:"filter,omitempty"`
	// Submodules means that the submodules of a git repository are part of it.
	Submodules bool `json:"submodules,omitempty"`
}

// Asked is a want with who asks.
type Asked struct {
	Want Want `json:"want"`
	Base bool `json:"base,omitempty"` // the base names it, whatever the change does
	// Given means that whoever asked for the rendering names it, and no file of the repository.
	Given bool `json:"given,omitempty"`
	// Preview means that only a preview wants it, of what the change does not touch: it is not waited for long.
	Preview bool `json:"preview,omitempty"`
}

// Request is what is to be fetched before a rendering can be whole.
type Request struct {
	Wants []Asked `json:"wants"`
	// Allow narrows what may be fetched of what is not given: one of these patterns of addresses must fit. Nil: nothing is
	// narrowed.
	Allow []string `json:"allow"`
	// Prefetch means that nobody is known to want it yet: the base did when the repository was checked before.
	Prefetch bool `json:"expected,omitempty"`
}

var userInfo = regexp.MustCompile(`://[^/?#\s]*@`)

// Redacted returns an address without what may be a password in it, for people; it need not be one that can be parsed.
func Redacted(address string) string { return userInfo.ReplaceAllLiteralString(address, "://") }

// String returns a want in words, without what may be a password.
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

// Failure is the reason why a want could not be had. It is an error. Its message is one sentence without the want's
// address and without anything secret.
type Failure struct {
	Message string `json:"message"`
	// Broken means that what is asked for does not exist (404, no such version or revision, not a chart, a wrong digest):
	// it would not deploy either. Otherwise only the operator or the cluster can tell: credentials, the allow-list, no
	// answer, limits.
	Broken bool `json:"broken,omitempty"`
	// Passing means that it may be over a while later: the source did not answer, or there was no time for it.
	Passing bool `json:"passing,omitempty"`
	// Own means that it is about whoever asks, now: another one may have it.
	Own bool `json:"-"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Entry is what one want came to.
type Entry struct {
	Want     Want   `json:"want"`
	Tree     string `json:"tree,omitempty"`     // the git object id of the tree in the store
	Revision string `json:"revision,omitempty"` // the commit, or the chart's version
	Digest   string `json:"digest,omitempty"`   // of a packed chart or a file as it was received: "sha256:" and hex
	// Changed means that the same exact version or digest had another content when it was first fetched: that digest.
	Changed string   `json:"changed,omitempty"`
	Failure *Failure `json:"failure,omitempty"` // nil: Tree is there
}

// Lock is what wants came to at one moment. Both sides of a change are rendered with one lock, so that a reference that
// moves is the same for both.
type Lock []Entry

// ErrWanted means that nobody has tried to fetch a want yet. It is noted in Sources.Wanted.
var ErrWanted = errors.New("has not been fetched")

// Source is something from outside that is there.
type Source struct {
	Entry
	Tree *tree.Tree
}

// Sources reads what a lock names and notes what it lacks. It is safe for concurrent use. The nil Sources has nothing
// and notes nothing.
type Sources struct {
	// Provisional means that what rests on these is done again once something was wanted that is not there: what lacks a
	// part need not be rendered without it.
	Provisional bool

	trees func(id string) (*tree.Tree, error)
	known map[Want]Entry
	mu    sync.Mutex
	asked map[Want]bool // whether it is known or not
	given map[Want]bool
}

// New returns what a lock names. trees opens a tree of the store by its object id.
func New(lock Lock, trees func(id string) (*tree.Tree, error)) *Sources {
	s := &Sources{trees: trees, known: map[Want]Entry{}}
	s = s.Aside()
	for _, e := range lock {
		s.known[e.Want] = e
	}
	return s
}

// Get returns what a want came to. The error is ErrWanted where nobody has fetched it, a *Failure where it could not be
// had, and another one where the store cannot be read.
func (s *Sources) Get(w Want) (*Source, error) {
	if s == nil {
		return nil, ErrWanted
	}
	s.note(s.asked, w)
	e, ok := s.known[w]
	switch {
	case !ok:
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

// Aside returns sources that have the same and note what they lack apart from these: for whoever only looks what is
// there.
func (s *Sources) Aside() *Sources {
	if s == nil {
		return nil
	}
	return &Sources{Provisional: s.Provisional, trees: s.trees, known: s.known, asked: map[Want]bool{}, given: map[Want]bool{}}
}

// note puts a want among those that were asked for or given.
func (s *Sources) note(wants map[Want]bool, w Want) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wants[w] = true
}

// MarkGiven notes that whoever asked for the rendering names a want (see Asked).
func (s *Sources) MarkGiven(w Want) {
	if s != nil {
		s.note(s.given, w)
	}
}

// IsGiven reports whether Give was called.
func (s *Sources) IsGiven(w Want) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given[w]
}

// Lacks reports whether a want is not there now, though it may exist. It is not wanted for that.
func (s *Sources) Lacks(w Want) bool {
	if s == nil {
		return true
	}
	e, ok := s.known[w]
	return !ok || e.Failure != nil && !e.Failure.Broken
}

// Digest distinguishes the results of a want; empty: nobody has fetched
// it, and it is not wanted for that.
func (s *Sources) Digest(w Want) string {
	if s == nil {
		return ""
	}
	e, ok := s.known[w]
	if !ok {
		return ""
	}
	s.note(s.asked, w)
	return e.digest()
}

func (e Entry) digest() string {
	data, err := json.Marshal(e)
	if err != nil {
		return "" // an entry is texts
	}
	return string(data)
}

// ID distinguishes the results of all wants. It is empty for the nil
// Sources.
func (s *Sources) ID() string {
	if s == nil {
		return ""
	}
	sum := sha256.New()
	for _, w := range slices.SortedFunc(maps.Keys(s.known), Compare) {
		fmt.Fprintln(sum, s.known[w].digest())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Wanted lists what was asked for and not there, sorted.
func (s *Sources) Wanted() []Want { return s.whatWasAsked(false) }

// Used lists what was asked for and there, sorted.
func (s *Sources) Used() []Want { return s.whatWasAsked(true) }

func (s *Sources) whatWasAsked(there bool) (list []Want) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.asked {
		if _, known := s.known[w]; known == there {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, Compare)
	return list
}

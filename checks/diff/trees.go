// Package diff determines what a change does: which files differ, which roots that affects, and which objects are
// created, updated and deleted. It also holds the remote sources of both sides.
package diff

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// Commit is one state of the repository.
type Commit struct {
	ID    string // id of the commit; "" for the empty state
	Tree  *tree.Tree
	Roots *deploy.Set

	Renderings    *render.Cache // cache of its renderings; nil: none
	PolicySources PolicySources // other repositories and files with rules
}

// PolicySources are the repositories and files from which a commit takes rules, besides its own tree. The zero value is
// none.
type PolicySources struct {
	Sources  *remote.Sources // fetched sources; nil: none
	Host     string          // see report.Change, likewise Policies, Files and Defaults
	Policies []report.PolicySource
	Files    []report.PolicyFile
	Defaults string
	// Graphs returns the cache for the graph of a repository, by its address. Nil: no cache.
	Graphs func(address string) *graph.Cache
	// Instead replaces a branch of one of the repositories by a revision; nil: nothing.
	Instead *Instead
}

// Instead makes every use of a branch of a repository read one revision.
type Instead struct {
	Addresses []string // of the repository
	Refs      []string // names of the branch in references; "" for the default branch
	Revision  string   // commit

	Met bool // whether any reference was replaced
}

// of returns the want that replaces w, and whether it is replaced.
func (i *Instead) of(w remote.Want) (remote.Want, bool) {
	if i == nil || w.Kind != remote.Git || !slices.Contains(i.Refs, w.Ref) ||
		!slices.Contains(i.Addresses, remote.Redacted(w.URL)) {
		return w, false
	}
	i.Met = true
	w.Ref = i.Revision
	return w, true
}

// Want returns the want of a source of policies. A repository named "owner/name" is on Host. The address of a file is a
// want for that file.
func (e PolicySources) Want(s report.PolicySource) remote.Want {
	if s.Path == "" && s.Ref == "" && strings.HasPrefix(s.Repository, "https://") && graph.IsManifestName(s.Repository) {
		return remote.Want{Kind: remote.File, URL: s.Repository}
	}
	w := remote.Want{Kind: remote.Git, URL: s.Repository, Ref: s.Ref}
	if !strings.Contains(w.URL, ":") {
		w.URL = strings.TrimSuffix(e.Host, "/") + "/" + w.URL
	}
	return w
}

// Open returns a source as a commit whose roots are not selected by any settings. The errors are those of
// [remote.Sources.Get].
func (e PolicySources) Open(w remote.Want) (*remote.Source, Commit, error) {
	w, _ = e.Instead.of(w)
	src, err := e.Sources.Get(w)
	if err != nil {
		return nil, Commit{}, err
	}
	return src, Commit{ID: src.Revision, Tree: src.Tree, PolicySources: PolicySources{Sources: e.Sources, Host: e.Host, Graphs: e.Graphs,
		Instead: e.Instead}}, nil
}

// Seek requests a source, so that it is fetched together with others. given says that the caller of the check named it,
// and not the repository. With Instead, only the replaced source counts as given: its author names the sources in its
// rules.
func (e PolicySources) Seek(w remote.Want, given bool) {
	w, met := e.Instead.of(w)
	if met || given && e.Instead == nil {
		e.Sources.MarkGiven(w)
	}
	_, _ = e.Sources.Get(w) // errors are reported where its policies are found
}

// Graph returns the cache of Graphs for an address; a new one if there is none.
func (e PolicySources) Graph(address string) *graph.Cache {
	if e.Graphs == nil {
		return &graph.Cache{}
	}
	return e.Graphs(address)
}

// Blob returns the object id of a file; "" if there is none.
func (c Commit) Blob(path string) string {
	e, _ := c.Tree.Entry(path)
	return e.ID
}

// Trees are the three commits of a check, and the difference between base and head.
type Trees struct {
	Rules Commit // whose settings, policies and exceptions apply
	Base  Commit // the merge base; empty if there is none
	Head  Commit

	Differences []tree.Difference
	changed     map[string]bool
}

// Compare computes the difference between base and head.
func (t *Trees) Compare() error {
	differences, err := tree.Diff(t.Base.Tree, t.Head.Tree)
	if err != nil {
		return err
	}
	t.Differences, t.changed = differences, map[string]bool{}
	for _, d := range differences {
		t.changed[d.Path] = true
	}
	return nil
}

// Settle makes the roots depend on what objects of Argo CD and Flux deploy: see deploy.Set.Settled.
func (t *Trees) Settle() {
	settled := map[*deploy.Set]*deploy.Set{}
	for _, c := range []*Commit{&t.Base, &t.Head, &t.Rules} {
		if settled[c.Roots] == nil {
			if c == &t.Head {
				c.Roots.After(t.Base.Roots)
			}
			settled[c.Roots] = c.Roots.Settled()
		}
		c.Roots = settled[c.Roots]
	}
}

// Changed reports whether the change touches a file.
func (t *Trees) Changed(path string) bool { return t.changed[path] }

// Touched lists the paths that differ between base and head, and those of them that are symlinks on either side.
func (t *Trees) Touched() (paths, links []string) {
	for _, d := range t.Differences {
		paths = append(paths, d.Path)
		if d.Old != nil && d.Old.Kind == tree.Symlink || d.New != nil && d.New.Kind == tree.Symlink {
			links = append(links, d.Path)
		}
	}
	return paths, links
}

// ProposesRules reports whether the head differs from the commit whose rules apply. Its own rules are then proposals.
func (t *Trees) ProposesRules() bool { return t.Head.Tree.ID() != t.Rules.Tree.ID() }

// History returns the commit whose history contains a file of rules: the head for a proposed file, otherwise the commit
// whose rules apply.
func (t *Trees) History(proposed bool) string {
	if proposed || t.Rules.ID == "" {
		return t.Head.ID
	}
	return t.Rules.ID
}

// Proposes reports whether a file has the content of the change, and not the present content of the base branch.
// Without a merge base, all files of the head do.
func (t *Trees) Proposes(path string) bool { return t.Base.ID == "" || t.changed[path] }

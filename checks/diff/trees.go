// Package diff says what a change does: which files differ, which roots that reaches, and which objects are created,
// updated and deleted. It holds what both sides take from outside of the repository.
package diff

import (
	"path"
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
	ID    string // the commit, as the change names it; "" for the state before everything
	Tree  *tree.Tree
	Roots *deploy.Set

	Renderings    *render.Cache // where what is rendered of it is remembered; nil: nowhere
	PolicySources PolicySources // what it takes rules from besides its own tree
}

// PolicySources is what a commit takes rules from besides its own tree. The zero value is nothing.
type PolicySources struct {
	Sources  *remote.Sources // what was fetched; nil: nothing
	Host     string          // see report.Change, likewise Policies, Files and Defaults
	Policies []report.PolicySource
	Files    []report.PolicyFile
	Defaults string
	// Graphs returns where what is read of a repository is remembered, by its address. Nil: nowhere.
	Graphs func(address string) *graph.Cache
	// Instead is what counts of one of the repositories in place of what is asked for; nil: nothing.
	Instead *Instead
}

// Instead has one revision of a repository read wherever rules come from a branch of it.
type Instead struct {
	Addresses []string // of the repository
	Refs      []string // by which the branch is asked for; "" for the default branch
	Revision  string   // commit

	Met bool // whether anything was asked for that it stands for
}

// of returns what is read in place of a want, and whether that is another one.
func (i *Instead) of(w remote.Want) (remote.Want, bool) {
	if i == nil || w.Kind != remote.Git || !slices.Contains(i.Refs, w.Ref) ||
		!slices.Contains(i.Addresses, remote.Redacted(w.URL)) {
		return w, false
	}
	i.Met = true
	w.Ref = i.Revision
	return w, true
}

// Want is what a source of policies is in: a repository that is named "owner/name" is on the host, and the address of a
// file is one file.
func (e PolicySources) Want(s report.PolicySource) remote.Want {
	if s.Path == "" && s.Ref == "" && strings.HasPrefix(s.Repository, "https://") &&
		slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(s.Repository)) {
		return remote.Want{Kind: remote.File, URL: s.Repository}
	}
	w := remote.Want{Kind: remote.Git, URL: s.Repository, Ref: s.Ref}
	if !strings.Contains(w.URL, ":") {
		w.URL = strings.TrimSuffix(e.Host, "/") + "/" + w.URL
	}
	return w
}

// Open returns what a source is in, as a commit without roots of its own settings. The errors are those of
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

// Seek asks for a source, so that it is fetched with everything else. given says that whoever asks for the check named
// it, and not the repository. With Instead that is so of what it stands for, and of nothing else: what the rules in it
// name in turn, their author names.
func (e PolicySources) Seek(w remote.Want, given bool) {
	w, met := e.Instead.of(w)
	if met || given && e.Instead == nil {
		e.Sources.MarkGiven(w)
	}
	_, _ = e.Sources.Get(w) // what it came to is said where its policies are found
}

// Graph is Graphs of an address.
func (e PolicySources) Graph(address string) *graph.Cache {
	if e.Graphs == nil {
		return &graph.Cache{}
	}
	return e.Graphs(address)
}

// Blob returns the object id of a file, "" where there is none.
func (c Commit) Blob(path string) string {
	e, _ := c.Tree.Entry(path)
	return e.ID
}

// Trees are the three states that a check looks at, and what differs between base and head.
type Trees struct {
	Rules Commit // whose settings, policies and exceptions apply
	Base  Commit // the merge base; empty where there is none
	Head  Commit

	Differences []tree.Difference
	changed     map[string]bool
}

// Compare finds out what differs between base and head.
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

// Settle has what is deployed count for what is a root: see deploy.Set.Settled.
func (t *Trees) Settle() {
	settled := map[*deploy.Set]*deploy.Set{}
	for _, c := range []*Commit{&t.Base, &t.Head, &t.Rules} {
		if settled[c.Roots] == nil {
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

// ProposesRules reports whether the head is another state than the one whose rules apply: its own rules are then
// proposals.
func (t *Trees) ProposesRules() bool { return t.Head.Tree.ID() != t.Rules.Tree.ID() }

// History returns the commit in whose history a file of rules was written: of the head for one that the change
// proposes, else of the rules in effect.
func (t *Trees) History(proposed bool) string {
	if proposed || t.Rules.ID == "" {
		return t.Head.ID
	}
	return t.Rules.ID
}

// Proposes reports whether a file is as the change has it, and not as the base branch has it now. Without a merge base
// all of the head is.
func (t *Trees) Proposes(path string) bool { return t.Base.ID == "" || t.changed[path] }

package rules

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
)

// Proposal tells which rules are as the change has them.
type Proposal struct {
	trees   *diff.Trees
	folders bool            // the change touches a folder of policies
	paths   map[string]bool // of the policies that such folders render to
}

// NewProposal looks at the rules of both sides: which files a folder of policies is made of may differ.
func NewProposal(t *diff.Trees, sides ...*Sources) *Proposal {
	touched := map[string]bool{}
	for _, side := range sides {
		for dir, reads := range side.folders {
			for p := range reads {
				touched[dir] = touched[dir] || t.Changed(strings.TrimSuffix(p, "/"))
			}
		}
	}
	out := &Proposal{trees: t, paths: map[string]bool{}}
	for _, side := range sides {
		for _, s := range side.Policies {
			if touched[s.Folder] {
				out.paths[s.Path] = true
			}
		}
	}
	for _, yes := range touched {
		out.folders = out.folders || yes
	}
	return out
}

// Has reports whether a policy or exception is as the change has it, and not as the base branch has it now.
func (p *Proposal) Has(s Source) bool {
	if s.Folder == "" {
		return p.trees.Proposes(s.Path)
	}
	return p.trees.Base.ID == "" || p.paths[s.Path]
}

// Any reports, without reading a file, whether the change can touch rules at all.
func (p *Proposal) Any() bool {
	t := p.trees
	return t.ProposesRules() && (t.Proposes(settings.Path) || p.folders ||
		slices.ContainsFunc(t.Rules.Roots.Marked(), t.Changed) || slices.ContainsFunc(t.Head.Roots.Marked(), t.Changed))
}

// Own keeps of the head's rules those that the change adds or edits: broken ones must not be merged, and exceptions may
// be approved.
func (p *Proposal) Own(head *Sources) *Sources {
	own := func(list []Source) []Source {
		return slices.DeleteFunc(slices.Clone(list), func(s Source) bool {
			return !p.Has(s) || s.Folder == "" && blob(p.trees.Head, s.Path) == blob(p.trees.Rules, s.Path)
		})
	}
	return &Sources{Settings: head.Settings, Policies: own(head.Policies), Exceptions: own(head.Exceptions)}
}

func blob(c diff.Commit, path string) string {
	e, _ := c.Tree.Entry(path)
	return e.ID
}

// Merge returns the rules as the merge leaves them: of what the change touches, the head's version; of everything else
// that of the base branch, which may have moved on since the head left it.
func (p *Proposal) Merge(base, head *Sources) *Sources {
	merge := func(base, head []Source) []Source {
		all := slices.DeleteFunc(slices.Clone(base), p.Has)
		for _, s := range head {
			if p.Has(s) {
				all = append(all, s)
			}
		}
		slices.SortStableFunc(all, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
		return all
	}
	return &Sources{Settings: head.Settings, Policies: merge(base.Policies, head.Policies),
		Exceptions: merge(base.Exceptions, head.Exceptions)}
}

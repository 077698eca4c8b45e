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
	touched map[string]bool // folders of policies of which a file differs
	turned  []string        // those of them that only one side renders
}

// NewProposal looks at the rules of both sides: which files a folder of policies is made of may differ.
func NewProposal(t *diff.Trees, sides ...*Sources) *Proposal {
	out := &Proposal{trees: t, touched: map[string]bool{}}
	rendered := map[string]int{}
	for _, side := range sides {
		for dir, reads := range side.folders {
			rendered[dir]++
			for p := range reads {
				if t.Changed(strings.TrimSuffix(p, "/")) {
					out.touched[dir] = true
				}
			}
		}
	}
	for dir := range out.touched {
		if rendered[dir] < len(sides) {
			out.turned = append(out.turned, dir)
		}
	}
	return out
}

// policy reports whether a policy is as the change has it, and not as the base branch has it now. Where a folder gets
// or loses its kustomization, all of it is.
func (p *Proposal) policy(s Source) bool {
	if s.Folder == "" {
		return p.exception(s) || settings.Under(s.Path, p.turned)
	}
	return p.trees.Base.ID == "" || p.touched[s.Folder]
}

// exception is policy for an exception, which is never rendered.
func (p *Proposal) exception(s Source) bool { return p.trees.Proposes(s.Path) }

// Any reports, without reading a file, whether the change can touch rules at all.
func (p *Proposal) Any() bool {
	t := p.trees
	return t.ProposesRules() && (t.Proposes(settings.Path) || len(p.touched) > 0 ||
		slices.ContainsFunc(t.Rules.Roots.Marked(), t.Changed) || slices.ContainsFunc(t.Head.Roots.Marked(), t.Changed))
}

// Own keeps of the head's rules those that the change adds or edits: broken ones must not be merged, and exceptions may
// be approved.
func (p *Proposal) Own(head *Sources) *Sources {
	own := func(list []Source, has func(Source) bool) []Source {
		return slices.DeleteFunc(slices.Clone(list), func(s Source) bool {
			return !has(s) || s.Folder == "" && p.trees.Head.Blob(s.Path) == p.trees.Rules.Blob(s.Path)
		})
	}
	return &Sources{Settings: head.Settings, Policies: own(head.Policies, p.policy),
		Exceptions: own(head.Exceptions, p.exception)}
}

// Merge returns the rules as the merge leaves them: of what the change touches, the head's version; of everything else
// that of the base branch, which may have moved on since the head left it.
func (p *Proposal) Merge(base, head *Sources) *Sources {
	merge := func(base, head []Source, has func(Source) bool) []Source {
		all := slices.DeleteFunc(slices.Clone(base), has)
		for _, s := range head {
			if has(s) {
				all = append(all, s)
			}
		}
		slices.SortStableFunc(all, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
		return all
	}
	return &Sources{Settings: head.Settings, Policies: merge(base.Policies, head.Policies, p.policy),
		Exceptions: merge(base.Exceptions, head.Exceptions, p.exception)}
}

package rules

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
)

// Proposal tells which rules of the merge are taken from the change.
type Proposal struct {
	trees   *diff.Trees
	touched map[string]bool // folders of policies with a file that differs
	turned  []string        // those folders that are rendered on one side only
}

// NewProposal finds the folders of policies of either side whose rendering the change may affect.
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

// policy reports whether a policy is taken from the change, and not from the base branch. If a folder gets or loses its
// kustomization, all of its policies are.
func (p *Proposal) policy(s Source) bool {
	if s.Folder == "" {
		return p.trees.Proposes(s.Path) || settings.Under(s.Path, p.turned)
	}
	return p.trees.Base.ID == "" || p.touched[s.Folder]
}

// Any reports, without reading a file, whether the change can touch rules at all.
func (p *Proposal) Any() bool {
	t := p.trees
	return t.ProposesRules() && (t.Proposes(settings.Path) || len(p.touched) > 0 ||
		slices.ContainsFunc(t.Rules.Roots.Marked(), t.Changed) || slices.ContainsFunc(t.Head.Roots.Marked(), t.Changed))
}

// Own returns the head's policies that the change adds or edits: invalid ones of these must not be merged.
func (p *Proposal) Own(head *Sources) []Source {
	return slices.DeleteFunc(slices.Clone(head.Policies), func(s Source) bool {
		return !p.policy(s) || s.Folder == "" && p.trees.Head.Blob(s.Path) == p.trees.Rules.Blob(s.Path)
	})
}

// Merge returns the rules after the merge. Rules that the change touches are those of the head, all others those of the
// tip of the base branch, which may be newer. base are the rules of the merge base, nil without one.
func (p *Proposal) Merge(tip, head, base *Sources) *Sources {
	all := slices.DeleteFunc(slices.Clone(tip.Policies), p.policy)
	for _, s := range head.Policies {
		if p.policy(s) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	out := &Sources{Settings: head.Settings, Policies: all, Exceptions: head.Exceptions, Warnings: head.Warnings}
	if base != nil {
		out.Exceptions = merge(base.Exceptions, tip.Exceptions, head.Exceptions)
	}
	return out
}

// merge takes the head's version of what differs between base and head, and the tip's version of everything else. The
// objects that a root renders from one file are compared as a whole.
func merge(base, tip, head []Source) (all []Source) {
	type key struct{ path, folder string }
	group := func(list []Source) map[key][]Source {
		m := map[key][]Source{}
		for _, s := range list {
			k := key{s.Path, s.Folder}
			m[k] = append(m[k], s)
		}
		return m
	}
	same := func(a, b Source) bool { return bytes.Equal(a.Data, b.Data) }
	was, is, will := group(base), group(tip), group(head)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(is)), maps.Keys(will))
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.folder, b.folder))
	})
	for _, k := range slices.Compact(keys) {
		if slices.EqualFunc(was[k], will[k], same) {
			all = append(all, is[k]...)
		} else {
			all = append(all, will[k]...)
		}
	}
	return all
}

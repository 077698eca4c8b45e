package rules

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// Proposal tells which rules of the merge are taken from the change: those whose content differs between the merge base and
// the head, however they are deployed. Everything else is as at the tip of the base branch, which may be newer.
type Proposal struct {
	Tip, Base, Head *Sources // Base is nil without a merge base: everything is the change's
}

// SameAs reports whether other sources have the same policies and exceptions.
func (out *Sources) SameAs(other *Sources) bool {
	return slices.EqualFunc(out.Policies, other.Policies, alike) && slices.EqualFunc(out.Exceptions, other.Exceptions, alike)
}

func alike(a, b Source) bool {
	return a.Path == b.Path && a.Folder == b.Folder && bytes.Equal(a.Data, b.Data)
}

// Any reports whether the change edits policies.
func (p *Proposal) Any() bool {
	now := merge(p.Tip.Policies, p.Tip.Policies, p.Tip.Policies)
	return p.Base == nil || !slices.EqualFunc(p.Merge().Policies, now, alike)
}

// Own returns the head's policies that the change adds or edits: invalid ones of these must not be merged.
func (p *Proposal) Own() []Source {
	return slices.DeleteFunc(slices.Clone(p.Head.Policies), func(s Source) bool {
		has := func(side *Sources) bool {
			return slices.ContainsFunc(side.Policies, func(o Source) bool { return alike(o, s) })
		}
		return has(p.Tip) || p.Base != nil && has(p.Base)
	})
}

// Merge returns the rules after the merge.
func (p *Proposal) Merge() *Sources {
	out := &Sources{Settings: p.Head.Settings, Policies: p.Head.Policies, Exceptions: p.Head.Exceptions, Warnings: p.Head.Warnings}
	if p.Base != nil {
		out.Policies = merge(p.Base.Policies, p.Tip.Policies, p.Head.Policies)
		out.Exceptions = merge(p.Base.Exceptions, p.Tip.Exceptions, p.Head.Exceptions)
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
	was, is, will := group(base), group(tip), group(head)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(is)), maps.Keys(will))
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.folder, b.folder))
	})
	for _, k := range slices.Compact(keys) {
		if slices.EqualFunc(was[k], will[k], alike) {
			all = append(all, is[k]...)
		} else {
			all = append(all, will[k]...)
		}
	}
	return all
}

package rules

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

// Documents lists the policies and bindings in sources; with exceptions, the exceptions instead. Unreadable documents
// are left out, since compiling them reports the error.
func Documents(sources []Source, exceptions bool) []engine.RuleDocument {
	return slices.DeleteFunc(engine.RuleDocuments(ForEngine(sources)), func(d engine.RuleDocument) bool {
		return d.Exception != exceptions
	})
}

// Edits are the differences between two versions of the rules.
type Edits struct {
	Policies   map[string]report.Edit    // by name
	Exceptions map[string]report.Edit    // by id
	Files      map[string]bool           // files with a document that differs, on either side
	Touched    map[string]bool           // files with a document whose text differs, on either side
	Places     map[string]report.Problem // places of the differing documents of policies, at the head if they exist there
	all        bool                      // any result may differ
	mutates    bool                      // any result of a policy may differ
	admission  bool
	names      map[string]bool // policies whose results may differ; with all, any may
}

// Compare compares two versions of the rules document by document. Moving a file and editing comments changes nothing.
func Compare(before, after *Sources) *Edits {
	e := &Edits{
		Policies: map[string]report.Edit{}, Exceptions: map[string]report.Edit{}, Files: map[string]bool{},
		Touched: map[string]bool{}, names: map[string]bool{}, Places: map[string]report.Problem{},
	}
	for _, exceptions := range []bool{false, true} {
		old, now, into, key := before.Policies, after.Policies, e.Policies, engine.RuleDocument.FullName
		if exceptions {
			old, now, into, key = before.Exceptions, after.Exceptions, e.Exceptions, engine.RuleDocument.ID
		}
		old, now = differing(old, now)
		a, b := Documents(old, exceptions), Documents(now, exceptions)
		for _, d := range slices.Concat(a, b) {
			e.Touched[d.Path] = true
		}
		gone, come := unlike(a, b)
		for _, d := range slices.Concat(gone, come) {
			e.Files[d.Path] = true
			e.mutates = e.mutates || d.Mutates
			e.admission = e.admission || d.Admission
			if !exceptions {
				e.Places[d.FullName()] = report.Problem{Path: d.Path, Line: d.Line}
			}
			for _, name := range d.Policies {
				e.names[name] = true
			}
		}
		for _, d := range gone {
			if !d.Binding {
				into[key(d)] = report.Removed
			}
		}
		for _, d := range come {
			switch k := key(d); {
			case d.Binding:
			case into[k] == report.Removed:
				into[k] = report.Changed
			case into[k] == "":
				into[k] = report.Added
			}
		}
	}
	a, b := before.Settings, after.Settings
	e.all = e.all || !a.SameRoots(b) || !a.SameClusters(b) || !slices.Equal(a.Context, b.Context) || a.Checks != b.Checks
	return e
}

// Everything marks that any result may differ, since something else that rules read was edited.
func (e *Edits) Everything() { e.all = true }

// Any reports whether any result may differ.
func (e *Edits) Any() bool { return e.all || e.mutates || len(e.names) > 0 }

// ConcernsChecks reports whether results of the built-in checks may differ, which look at objects before any policy
// mutates them. name is their name in exceptions.
func (e *Edits) ConcernsChecks(name string) bool { return e.all || e.names[name] }

// differing returns the files that the other list does not have with the same content.
func differing(a, b []Source) (old, now []Source) {
	lacking := func(other []Source) func(Source) bool {
		m := map[string][]byte{}
		for _, s := range other {
			m[s.Path] = s.Data
		}
		return func(s Source) bool {
			data, ok := m[s.Path]
			return !ok || !bytes.Equal(data, s.Data)
		}
	}
	return report.Kept(a, lacking(b)), report.Kept(b, lacking(a))
}

// unlike returns the documents that the other list does not have.
func unlike(a, b []engine.RuleDocument) (gone, come []engine.RuleDocument) {
	count := map[string]int{}
	for _, d := range a {
		count[d.Content]++
	}
	for _, d := range b {
		if count[d.Content] > 0 {
			count[d.Content]--
		} else {
			come = append(come, d)
		}
	}
	for _, d := range a {
		if count[d.Content] > 0 {
			count[d.Content]--
			gone = append(gone, d)
		}
	}
	return gone, come
}

// Removes returns a function that reports whether a later version of the rules lacks an exception: its file has it no longer.
// Where it moves, the one in the other file is another exception, which may cover less.
func Removes(before, after *Sources) func(*engine.Exception) bool {
	type place struct{ id, path string }
	places := func(list []Source) map[place]bool {
		out := map[place]bool{}
		for _, d := range Documents(list, true) {
			out[place{d.ID(), d.Path}] = true
		}
		return out
	}
	old, now := differing(before.Exceptions, after.Exceptions)
	was, is := places(old), places(now)
	return func(e *engine.Exception) bool {
		at := place{e.ID(), e.Path}
		return was[at] && !is[at]
	}
}

// Concerned returns the files with policies whose results may differ, and those with policies that mutate objects.
func (e *Edits) Concerned(sources []Source) []Source {
	if e.all || e.mutates {
		return sources
	}
	concerns := func(d engine.RuleDocument) bool {
		return !d.Exception && (d.Mutates || e.names[d.FullName()] || e.names[d.Name] || e.admission && d.Admission)
	}
	return slices.DeleteFunc(slices.Clone(sources), func(s Source) bool {
		documents := engine.RuleDocuments(ForEngine([]Source{s}))
		return len(documents) > 0 && !slices.ContainsFunc(documents, concerns) // a file without documents may be unreadable
	})
}

// Proposal tells which rules of the merge are taken from the change: those whose content differs between the merge base and
// the head, however they are deployed. Everything else is as at the tip of the base branch, which may be newer.
type Proposal struct {
	Tip, Base, Head *Sources // Base is nil without a merge base: everything is the change's
}

// SameAs reports whether other sources have the same policies and exceptions, in the same clusters.
func (out *Sources) SameAs(other *Sources) bool {
	same := func(a, b Source) bool { return alike(a, b) && slices.Equal(a.Clusters, b.Clusters) }
	return slices.EqualFunc(out.Policies, other.Policies, same) && slices.EqualFunc(out.Exceptions, other.Exceptions, same)
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

package rules

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/gitops"
)

// Introduced are the exceptions that a change puts into effect: new and edited ones, and unedited ones that only count
// because of the change. Narrowed exceptions, and edits of comments, do not count.
type Introduced struct {
	Sources []Source // the files of these exceptions, and of those that the change edits
	Differs bool     // whether the change affects which exceptions are in effect

	with    map[introduced][]report.File
	narrows map[introduced]bool // whether one lets through less than before, in every rendering: it needs no approval
	heads   []*Sources
	terms   map[string]map[string][]string // of the exceptions of a file, by id: see Terms
}

// introduced identifies one of these exceptions.
type introduced struct {
	path string
	line int
	id   string
}

// Introduce finds the exceptions that a change puts into effect. They are in effect at the head by one of several
// versions of the settings. They are in effect neither at the tip of the base branch nor where the head left it, by any
// version.
func Introduce(t *diff.Trees, heads []*Sources, tip *Sources, bases ...*Sources) *Introduced {
	out := &Introduced{with: map[introduced][]report.File{}, narrows: map[introduced]bool{}, heads: heads,
		terms: map[string]map[string][]string{}}
	before := newInventory(t, []*Sources{tip})
	left := newInventory(t, bases)
	for _, head := range heads {
		for _, s := range head.Exceptions {
			if further(t, s.Path) {
				out.Differs = true
				out.take(t, head, s, nil, nil)
				continue
			}
			if !before.differs(s) || !left.differs(s) {
				out.Differs = out.Differs || len(bases) > 0 && left.differs(s)
				continue
			}
			out.Differs = true
			out.take(t, head, s, before, left)
		}
	}
	out.takeRest()
	for _, base := range bases {
		now := newInventory(t, heads)
		out.Differs = out.Differs || slices.ContainsFunc(base.Exceptions, now.differs)
	}
	return out
}

// further reports whether a change takes a file of exceptions to a cluster that there was before, and that did not have it
// by the base branch; also, whether it goes to some clusters there, and at the head nothing tells to which.
func further(t *diff.Trees, file string) bool {
	if t.Base.ID == "" || t.Rules.Blob(file) == "" {
		return false
	}
	var had []gitops.Cluster
	for _, c := range []diff.Commit{t.Rules, t.Base} {
		list := diff.Have(c.Roots, file)
		if len(list) == 0 && c.Blob(file) != "" { // all may have it
			return false
		}
		had = append(had, list...)
	}
	return beyond(t, diff.Have(t.Head.Roots, file), had)
}

// beyond reports whether clusters that there were before are not all among those that had something.
func beyond(t *diff.Trees, now, had []gitops.Cluster) bool {
	return len(now) == 0 || slices.ContainsFunc(now, func(c gitops.Cluster) bool {
		if slices.ContainsFunc(had, func(other gitops.Cluster) bool { return !c.Apart(other) }) {
			return false
		}
		return c.By != gitops.ByFolder || t.Rules.Blob(c.Name) != ""
	})
}

// take adds the exceptions of a file that are not in effect before; all, where nothing is given.
func (out *Introduced) take(t *diff.Trees, head *Sources, s Source, before, left *inventory) {
	keep := s.Folder == "" && t.Proposes(s.Path) && t.Head.Blob(s.Path) != t.Rules.Blob(s.Path)
	for _, d := range Documents([]Source{s}, true) {
		as := introduced{d.Path, d.Line, d.ID()}
		if before != nil && (before.has(s, d, d.Within) || left.has(s, d, d.SameTerms)) {
			switch less, known := out.narrows[as]; {
			case !before.has(s, d, d.Within):
				out.narrows[as] = false // the base branch lets less through by now
			case (less || !known) && !before.has(s, d, d.SameTerms) && !left.has(s, d, d.SameTerms):
				keep, out.narrows[as] = true, true
			}
			continue
		}
		keep = true
		out.with[as] = out.files(t, head, s)
	}
	if keep {
		out.add(s)
	}
}

// takeRest adds the other renderings of the exceptions: an approval is for all, and they replace the merged ones.
func (out *Introduced) takeRest() {
	for _, head := range out.heads {
		for _, s := range head.Exceptions {
			if slices.ContainsFunc(out.Sources, func(o Source) bool { return o.Path == s.Path }) &&
				slices.ContainsFunc(Documents([]Source{s}, true), func(d engine.RuleDocument) bool {
					as := introduced{d.Path, d.Line, d.ID()}
					_, is := out.with[as]
					return is || out.narrows[as]
				}) {
				out.add(s)
			}
		}
	}
}

func (out *Introduced) add(s Source) {
	if !slices.ContainsFunc(out.Sources, func(o Source) bool { return o.Path == s.Path && bytes.Equal(o.Data, s.Data) }) {
		out.Sources = append(out.Sources, s)
	}
}

// files returns the other changed files that may make an exception what it is: those that it is rendered from, objects that deploy
// it, and the settings. Where the change leaves the file of the exception alone and none of these is known to be the reason,
// they are all files of the change.
func (out *Introduced) files(t *diff.Trees, head *Sources, s Source) (list []report.File) {
	files := diff.DeployedBy(t.Head.Roots, s.Path)
	if files[settings.Path] = true; s.Folder != "" {
		for p := range head.reads[s.Folder] {
			files[p] = true
		}
	}
	for _, d := range t.Differences {
		if files[d.Path] && d.Path != s.Path {
			list = append(list, report.File{Path: d.Path, Blob: t.Head.Blob(d.Path)})
		}
	}
	if len(list) == 0 && !t.Changed(s.Path) {
		for _, d := range t.Differences {
			list = append(list, report.File{Path: d.Path, Blob: t.Head.Blob(d.Path)})
		}
	}
	return list
}

// Terms returns the digest of what an exception of a cluster of the settings lets through at the head, as rendered, and of the
// clusters of Argo CD and Flux that get it. These may change without a change of its file.
func (out *Introduced) Terms(cluster string, e *engine.Exception) []string {
	byID, known := out.terms[e.Path]
	if !known {
		byID = map[string][]string{}
		for _, head := range out.heads {
			for _, s := range report.Kept(head.Exceptions, func(s Source) bool { return s.Path == e.Path }) {
				clusters := report.Mapped(s.Clusters, func(c gitops.Cluster) string { return fmt.Sprintf("%+v", c) })
				slices.Sort(clusters)
				for _, d := range Documents([]Source{s}, true) {
					byID[d.ID()] = append(byID[d.ID()], fmt.Sprintf("%q %q", d.Terms, clusters))
				}
			}
		}
		out.terms[e.Path] = byID
	}
	terms := slices.Compact(slices.Sorted(slices.Values(byID[e.ID()])))
	return []string{fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q", cluster, e.Path, terms)))}
}

// Has reports whether the change introduces an exception.
func (out *Introduced) Has(e *engine.Exception) bool {
	_, ok := out.with[introduced{e.Path, e.Line, e.ID()}]
	return ok
}

// Narrows reports whether the change has an exception let through less than before, and nothing more in any cluster.
func (out *Introduced) Narrows(e *engine.Exception) bool {
	return out.narrows[introduced{e.Path, e.Line, e.ID()}] && !out.Has(e)
}

// With returns the other changed files on which an exception of the change depends.
func (out *Introduced) With(e *engine.Exception) []report.File {
	return out.with[introduced{e.Path, e.Line, e.ID()}]
}

// RenderedFrom lists the files from which an exception of the change is rendered.
func (out *Introduced) RenderedFrom(e *engine.Exception) (list []string) {
	for _, head := range out.heads {
		list = append(list, head.RenderedFrom(e)...)
	}
	return list
}

// RenderedFrom lists the files from which an exception is rendered; none if it counts as its file has it.
func (out *Sources) RenderedFrom(e *engine.Exception) (list []string) {
	for _, s := range out.Exceptions {
		if s.Path == e.Path && s.Folder != "" {
			for p := range out.reads[s.Folder] {
				if p != e.Path && !strings.HasSuffix(p, "/") {
					list = append(list, p)
				}
			}
		}
	}
	return list
}

// ClustersOf lists the clusters of Argo CD and Flux that have an exception; none: nothing tells which. It returns false for
// an exception that is not among the sources.
func (out *Sources) ClustersOf(e *engine.Exception) ([]gitops.Cluster, bool) {
	i := slices.IndexFunc(out.Exceptions, func(s Source) bool { return s.Path == e.Path && s.digest() == e.Digest })
	if i < 0 {
		return nil, false
	}
	return out.Exceptions[i].Clusters, true
}

// inventory is the exceptions in effect on one side, by path.
type inventory struct {
	trees     *diff.Trees
	sources   map[string][]Source
	documents map[string][]document // read when first used
}

type document struct {
	engine.RuleDocument
	of Source
}

func newInventory(t *diff.Trees, list []*Sources) *inventory {
	out := &inventory{trees: t, sources: map[string][]Source{}, documents: map[string][]document{}}
	for _, of := range list {
		for _, s := range of.Exceptions {
			out.sources[s.Path] = append(out.sources[s.Path], s)
		}
	}
	return out
}

// differs reports whether no file with the same path and content is in effect where a source is.
func (v *inventory) differs(s Source) bool {
	return !v.covers(s, report.Kept(v.sources[s.Path], func(o Source) bool { return bytes.Equal(o.Data, s.Data) }))
}

// has reports whether an exception from the same file is in effect where a source is, for which well is true.
func (v *inventory) has(s Source, d engine.RuleDocument, well func(engine.RuleDocument) bool) bool {
	list, ok := v.documents[d.Path]
	if !ok {
		for _, o := range v.sources[d.Path] {
			for _, d := range Documents([]Source{o}, true) {
				list = append(list, document{d, o})
			}
		}
		v.documents[d.Path] = list
	}
	var alike []Source
	for _, o := range list {
		if o.ID() == d.ID() && well(o.RuleDocument) {
			alike = append(alike, o.of)
		}
	}
	return v.covers(s, alike)
}

// covers reports whether some sources are in effect in all clusters in which another one is.
func (v *inventory) covers(s Source, by []Source) bool {
	var had []gitops.Cluster
	for _, o := range by {
		if len(o.Clusters) == 0 { // all may have it
			return true
		}
		had = append(had, o.Clusters...)
	}
	return len(by) > 0 && !beyond(v.trees, s.Clusters, had)
}

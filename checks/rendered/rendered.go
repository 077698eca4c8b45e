// Package rendered lists what a change does to the deployed resources: the differing lines of each resource, with the
// place that a person edits, the changed images, and what new versions of remote sources (charts, remote bases, files)
// bring.
//
// Pairs of rendered resources go in, parts of a report come out. It evaluates no rules.
package rendered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// The listed differences are bounded, the rest is counted. Finding a place may render a chart, so places are bounded,
// too.
const (
	maxDiffs    = 2000    // resources
	maxLines    = 5000    // of all resources
	maxOwnLines = 400     // of one resource
	maxBytes    = 4 << 20 // of the text of all lines
	maxLine     = 8 << 10 // of the text of one line, approximately
	maxPlaces   = 20_000  // places that are looked up
)

// Change is the input: the pairs of a change.
type Change struct {
	Pairs    []*diff.Pair
	Changed  func(path string) bool         // whether the change touches a file
	Clusters func(root roots.Root) []string // clusters of a root; nil: the settings have no clusters
}

// entry is one difference, with the edits that have it.
type entry struct {
	named   report.Resource
	edits   []*edit
	hunks   []report.DiffHunk
	leftOut int
	images  []report.ImageChange
}

// AddToReport adds the differences of rendered resources to the report, sorted by root and by resource. It fails only
// if the context ends.
func AddToReport(ctx context.Context, c Change, out *report.Report) error {
	l := &listing{entries: map[key]*entry{}, relabeled: map[key]bool{}, lines: maxLines, bytes: maxBytes}
	// Updates are listed before creations and deletions if there is not enough room, since their lines are more
	// informative.
	edits := sorted(editsOf(c.Pairs))
	for _, both := range []bool{true, false} {
		for _, e := range edits {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
			}
			if both == (e.old != nil && e.new != nil) {
				l.add(e)
			}
		}
	}
	find := &finder{changed: c.Changed, left: maxPlaces}
	for _, e := range l.list {
		for _, part := range find.split(e) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
			}
			d := report.Difference{Resource: e.named, Operation: string(e.edits[0].operation), LeftOut: e.leftOut,
				Hunks: find.located(part[0], e.hunks), Roots: rootsOf(part)}
			if e.edits[0].moved() {
				d.From = e.edits[0].from.Name()
			}
			if e.edits[0].replaces() {
				before := review.Named(e.edits[0].old.Object)
				d.Replaces = &before
			}
			if c.Clusters != nil {
				d.Clusters = clustersOf(part, c.Clusters)
			}
			out.Differences = append(out.Differences, d)
		}
		for _, i := range e.images {
			if !slices.Contains(out.Images, i) {
				out.Images = append(out.Images, i)
			}
		}
	}
	slices.SortStableFunc(out.Differences, compare)
	out.Images = withoutMoved(out.Images)
	slices.SortStableFunc(out.Images, func(a, b report.ImageChange) int { return compareResources(a.Resource, b.Resource) })
	out.MoreDifferences, out.Relabeled = l.more, len(l.relabeled)
	return nil
}

func compare(a, b report.Difference) int {
	return cmp.Or(slices.Compare(a.Roots, b.Roots), compareResources(a.Resource, b.Resource))
}

func compareResources(a, b report.Resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.APIVersion, b.APIVersion))
}

// key identifies a difference.
type key struct {
	named     report.Resource
	operation admission.Operation
	from      roots.Root
	digest    [sha256.Size]byte
}

// listing collects the differences, each once.
type listing struct {
	entries   map[key]*entry
	list      []*entry
	relabeled map[key]bool
	more      int
	lines     int // lines for which there is still room; likewise bytes
	bytes     int
}

// add adds the difference of an edit.
func (l *listing) add(one *edit) {
	was, now := one.versions()
	if diff.Same(was, now) && !one.moved() {
		return // only unknown values differ
	}
	hunks := diff.Hunks(mask.Objects(was, now))
	k := key{one.named(), one.operation, one.from, digest(hunks)}
	if was != nil && now != nil && !one.moved() && sameButVersion(was, now) {
		l.relabeled[k] = true
		return
	}
	if known, ok := l.entries[k]; ok {
		if known == nil {
			return
		}
		known.edits = append(known.edits, one)
		return
	}
	if len(l.list) == maxDiffs {
		l.entries[k] = nil
		l.more++
		return
	}
	e := &entry{named: k.named, edits: []*edit{one}, images: imageChanges(k.named, was, now)}
	e.hunks, e.leftOut = l.cut(hunks)
	l.entries[k] = e
	l.list = append(l.list, e)
}

// digest identifies a difference among those of one resource.
func digest(hunks []report.DiffHunk) (sum [sha256.Size]byte) {
	h := sha256.New()
	for i := range hunks {
		_, _ = h.Write([]byte(hunks[i].String())) // never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// rootsOf names the roots of edits, each once. For a folder that an object of Argo CD or Flux deploys, it names the
// object.
func rootsOf(edits []*edit) (names []string) {
	deployed := map[string]bool{}
	for _, e := range edits {
		deployed[e.root.Path] = deployed[e.root.Path] || e.root.Object != ""
	}
	for _, e := range edits {
		if name := e.root.Name(); !slices.Contains(names, name) && (e.root.Object != "" || !deployed[e.root.Path]) {
			names = append(names, name)
		}
	}
	return names
}

func clustersOf(edits []*edit, of func(roots.Root) []string) (names []string) {
	for _, e := range edits {
		for _, name := range of(e.root) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

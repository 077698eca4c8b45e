// Package rendered says what a change does to the resources that are deployed: what differs in each, line by line, with
// the place that a person edits for each line, and which images it brings.
//
// Pairs of rendered resources go in, the parts of a report that show them come out. No rule is asked.
package rendered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/bump"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/difference"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/roots"
)

// What is listed is bounded: the rest is counted. A place may take a rendering of a chart, so lines are, too.
const (
	maxListed   = 2000    // resources
	maxLines    = 5000    // of all resources
	maxOwnLines = 400     // of one resource
	maxBytes    = 4 << 20 // of the text of all lines
	maxLine     = 8 << 10 // of the text of one
	maxPlaces   = 20_000  // places that are looked up
)

// Change is what there is to tell of.
type Change struct {
	Pairs    []*diff.Pair
	Changed  func(path string) bool         // whether the change touches a file
	Clusters func(root roots.Root) []string // those of a root; nil: the settings know none
}

// entry is one difference, and the pairs that have it.
type entry struct {
	named   report.Resource
	pairs   []*diff.Pair
	hunks   []difference.Hunk
	leftOut int
	images  []report.ImageChange
}

// Tell puts what a change does to the rendered resources into the report: differences in the order of the roots, and of
// the resources in them. The error says that the context ended before.
func Tell(ctx context.Context, c Change, out *report.Report) error {
	l := &listing{entries: map[key]*entry{}, relabeled: map[key]bool{}, lines: maxLines, bytes: maxBytes}
	// What is updated says more than what is all new or gone: it comes first where there is not room for all.
	for _, updates := range []bool{true, false} {
		for _, p := range sorted(c.Pairs) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
			}
			if updates == (p.Operation == admission.Update) {
				l.add(p)
			}
		}
	}
	find := &finder{changed: c.Changed, left: maxPlaces}
	for _, e := range l.list {
		for _, part := range find.split(e) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
			}
			d := report.Difference{Resource: e.named, Operation: string(part.pairs[0].Operation), LeftOut: e.leftOut,
				Hunks: find.located(part.at, e.hunks), Roots: rootsOf(part.pairs)}
			if c.Clusters != nil {
				d.Clusters = clustersOf(part.pairs, c.Clusters)
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
	slices.SortStableFunc(out.Images, func(a, b report.ImageChange) int { return compareResources(a.Resource, b.Resource) })
	out.MoreDifferences, out.Relabeled = l.more, len(l.relabeled)
	return nil
}

// sorted are pairs in the order in which they are listed: by root, then by resource.
func sorted(list []*diff.Pair) []*diff.Pair {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *diff.Pair) int {
		return cmp.Or(roots.Compare(a.Root, b.Root),
			compareResources(review.Named(a.Resource().Object), review.Named(b.Resource().Object)))
	})
	return list
}

func compare(a, b report.Difference) int {
	return cmp.Or(slices.Compare(a.Roots, b.Roots), compareResources(a.Resource, b.Resource))
}

func compareResources(a, b report.Resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.APIVersion, b.APIVersion))
}

// key tells differences apart.
type key struct {
	named     report.Resource
	operation admission.Operation
	digest    [sha256.Size]byte
}

// listing collects differences, each once.
type listing struct {
	entries   map[key]*entry
	list      []*entry
	relabeled map[key]bool
	more      int
	lines     int // that there is room for yet; likewise of bytes
	bytes     int
}

// add lists the difference of a pair.
func (l *listing) add(p *diff.Pair) {
	var was, now map[string]any
	if p.Old != nil && p.Operation != admission.Create {
		was = p.Old.Made()
	}
	if p.New != nil {
		now = p.New.Made()
	}
	if difference.Same(was, now) {
		return // only what is not known of it differs
	}
	hunks := difference.Of(masked(was, now))
	named := review.Named(p.Resource().Object)
	k := key{named, p.Operation, digest(hunks)}
	if was != nil && now != nil && bump.SameButVersion(was, now) {
		l.relabeled[k] = true
		return
	}
	if known, ok := l.entries[k]; ok {
		if known == nil {
			return
		}
		known.pairs = append(known.pairs, p)
		return
	}
	if len(l.list) == maxListed {
		l.entries[k] = nil
		l.more++
		return
	}
	e := &entry{named: named, pairs: []*diff.Pair{p}, images: bump.ImageChanges(named, was, now)}
	e.hunks, e.leftOut = l.cut(hunks)
	l.entries[k] = e
	l.list = append(l.list, e)
}

// digest tells differences of one resource apart.
func digest(hunks []difference.Hunk) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, one := range hunks {
		_, _ = h.Write([]byte(one.String())) // never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// cut leaves the lines out for which there is no room, and counts them.
func (l *listing) cut(hunks []difference.Hunk) (out []difference.Hunk, leftOut int) {
	own := min(maxOwnLines, l.lines)
	for _, h := range hunks {
		n := 0
		for n < len(h.Lines) && n < own && l.bytes > 0 && leftOut == 0 {
			if text := h.Lines[n].Text; len(text) > maxLine {
				h.Lines[n].Text = strings.ToValidUTF8(text[:maxLine], "") + fmt.Sprintf("… (%d more bytes)", len(text)-maxLine)
			}
			l.bytes -= len(h.Lines[n].Text)
			n++
		}
		own, l.lines, leftOut = own-n, l.lines-n, leftOut+len(h.Lines)-n
		if n > 0 {
			out = append(out, difference.Hunk{Path: h.Path, Lines: h.Lines[:n]})
		}
	}
	return out, leftOut
}

// rootsOf names the roots of pairs, each once. A folder that an object of Argo CD or Flux deploys is named by that.
func rootsOf(pairs []*diff.Pair) (names []string) {
	deployed := map[string]bool{}
	for _, p := range pairs {
		deployed[p.Root.Path] = deployed[p.Root.Path] || p.Root.Object != ""
	}
	for _, p := range pairs {
		if name := p.Root.Name(); !slices.Contains(names, name) && (p.Root.Object != "" || !deployed[p.Root.Path]) {
			names = append(names, name)
		}
	}
	return names
}

func clustersOf(pairs []*diff.Pair, of func(roots.Root) []string) (names []string) {
	for _, p := range pairs {
		for _, name := range of(p.Root) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// masked returns two versions of an object without what is secret in them.
func masked(was, now map[string]any) (a, b map[string]any) { return bump.Masked(was, now) }

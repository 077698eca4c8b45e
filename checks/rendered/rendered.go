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
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine"
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
	edits := editsOf(c.Pairs)
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
				Hunks: find.located(part[0], e.hunks), Roots: rootsOf(part), Clusters: c.clustersOf(part...)}
			if e.edits[0].moved() {
				d.From = e.edits[0].from.Name()
			}
			if e.edits[0].replaces() {
				before := review.Named(e.edits[0].old.Object)
				d.Replaces = &before
			}
			out.Differences = append(out.Differences, d)
		}
		out.Images = report.Union(out.Images, e.images)
	}
	slices.SortStableFunc(out.Differences, func(a, b report.Difference) int {
		return cmp.Or(slices.Compare(a.Roots, b.Roots), compareResources(a.Resource, b.Resource))
	})
	out.Images = withoutMoved(out.Images)
	slices.SortStableFunc(out.Images, func(a, b report.ImageChange) int { return compareResources(a.Resource, b.Resource) })
	out.MoreDifferences, out.Relabeled = l.more, len(l.relabeled)
	return nil
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

// clustersOf names the clusters of edits, each once.
func (c Change) clustersOf(edits ...*edit) (names []string) {
	if c.Clusters == nil {
		return nil
	}
	for _, e := range edits {
		names = report.Union(names, report.Filled(c.Clusters(e.root)...))
	}
	slices.Sort(names)
	return names
}

// ByRoot counts the changed resources of each root, in the order of the roots. Changes of a version label only do not
// count. A folder that an object of Argo CD or Flux deploys counts as that object's root. Policies and exceptions in a
// folder that nobody is known to deploy do not count: the preview lists them. It fails only if the context ends.
func ByRoot(ctx context.Context, c Change) (list []report.RootChange, err error) {
	edits := editsOf(c.Pairs)
	deployed := map[string]bool{}
	for _, e := range edits {
		deployed[e.root.Path] = deployed[e.root.Path] || e.root.Object != ""
	}
	row := map[string]int{} // by name and clusters: an object that deploys another folder than before is two roots with one row
	for _, e := range edits {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
		}
		was, now := e.versions()
		if diff.Same(was, now) && !e.moved() || e.root.Object == "" && deployed[e.root.Path] ||
			e.root.Kind == roots.Folder && e.root.Object == "" && isRule(now) && isRule(was) ||
			was != nil && now != nil && !e.moved() && sameButVersion(was, now) {
			continue
		}
		in := report.RootChange{Root: e.root.Name(), Clusters: c.clustersOf(e)}
		name := strings.Join(append(in.Clusters, in.Root), "\n")
		if _, ok := row[name]; !ok {
			row[name], list = len(list), append(list, in)
		}
		one := &list[row[name]]
		switch {
		case was == nil:
			one.Added++
		case now == nil:
			one.Removed++
		default:
			one.Changed++
		}
		one.Images = append(one.Images, imageChanges(e.named(), was, now)...)
	}
	for i := range list {
		list[i].Images = withoutMoved(list[i].Images)
	}
	return list, nil
}

// isRule reports whether an object is a policy or an exception, or there is none.
func isRule(o map[string]any) bool {
	id := admission.IdentityOf(o)
	return o == nil || engine.IsRule(id.Group, id.Kind)
}

// cut leaves out, and counts, the lines for which there is no room. It shortens long lines to the text around their
// difference.
func (l *listing) cut(hunks []report.DiffHunk) (out []report.DiffHunk, leftOut int) {
	own := min(maxOwnLines, l.lines)
	for _, h := range hunks {
		lines := h.Lines[:min(len(h.Lines), own)]
		shorten(lines)
		n := 0
		for n < len(lines) && l.bytes > 0 && leftOut == 0 {
			l.bytes -= len(lines[n].Text)
			n++
		}
		own, l.lines, leftOut = own-n, l.lines-n, leftOut+len(h.Lines)-n
		if n > 0 {
			out = append(out, report.DiffHunk{Path: h.Path, Lines: lines[:n]})
		}
	}
	return out, leftOut
}

// shorten cuts long lines. Two versions of one line are cut at the same place.
func shorten(lines []report.DiffLine) {
	if !slices.ContainsFunc(lines, func(l report.DiffLine) bool { return len(l.Text) > maxLine }) {
		return
	}
	pairs := view.LinePairs(len(lines), func(i int) (sign, text string) { return lines[i].Sign, lines[i].Text })
	for i, k := range pairs {
		switch {
		case k < 0:
			lines[i].Text = excerpt(lines[i].Text, 0)
		case k > i:
			from := view.SameHead([]byte(lines[i].Text), []byte(lines[k].Text))
			lines[i].Text, lines[k].Text = excerpt(lines[i].Text, from), excerpt(lines[k].Text, from)
		}
	}
}

// The shown parts of a cut line: its beginning, which identifies it, and the text around the differing byte.
const (
	beginning = 80
	before    = 200
)

// excerpt shortens a long text so that the byte at from is shown. Omitted parts are replaced by their length.
func excerpt(s string, from int) string {
	if len(s) <= maxLine {
		return s
	}
	head := ""
	if from >= maxLine/2 {
		end, start := whole(s, beginning), whole(s, from-before)
		head, s = fmt.Sprintf("%s… (%d bytes) …", s[:end], start-end), s[start:]
	}
	end := whole(s, maxLine)
	if end == len(s) {
		return head + s
	}
	return head + s[:end] + fmt.Sprintf("… (%d more bytes)", len(s)-end)
}

// whole returns where the character begins that contains a byte; the end of the text if there is no such byte.
func whole(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

package checks

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/render"
)

// lookups are the objects that the change alters and without which a policy would not pass. They need approval as
// exceptions do. They are safe for concurrent use.
type lookups struct {
	change report.Change
	trees  *diff.Trees
	pairs  *pairs

	mu    sync.Mutex
	known map[report.Resource][]report.Exception
}

// exemption returns the least advanced state of approval among the altered objects that an answer relies on.
func (l *lookups) exemption(a *review.Answer) *report.Exemption {
	order := []report.State{report.Refused, report.Pending, report.Approved}
	var worst *report.Exemption
	for _, object := range a.Altered {
		for _, e := range l.of(object) {
			if worst == nil || slices.Index(order, e.State) < slices.Index(order, worst.State) {
				worst = &report.Exemption{Exception: e.Name, Path: e.Path, State: e.State, By: strings.Join(e.By, ", ")}
			}
		}
	}
	return worst
}

// of returns the places at which the change alters an object, with their states of approval.
func (l *lookups) of(object report.Resource) []report.Exception {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list, ok := l.known[object]; ok {
		return list
	}
	var list []report.Exception
	for _, p := range slices.Concat(l.pairs.list, l.pairs.alone) {
		k := diff.KeyOf(p.Resource())
		if k.Group == object.APIVersion && k.Kind == object.Kind && k.Namespace == object.Namespace && k.Name == object.Name {
			list = append(list, l.waiting(p, object))
		}
	}
	if len(list) == 0 { // nobody can approve a change at an unknown place
		list = []report.Exception{{Name: object.String(), Object: true, State: report.Pending}}
	}
	l.known[object] = list
	return list
}

// waiting describes the approval that is needed for a pair that alters an object, and its state.
func (l *lookups) waiting(p *diff.Pair, object report.Resource) report.Exception {
	out := report.Exception{Name: object.String(), Object: true, State: report.Pending}
	at := p.Resource().Origin("")
	out.Path, out.Line = at.Path, at.StartLine
	files := map[string]bool{}
	for _, side := range []*render.Resource{p.New, p.Old} {
		if side == nil {
			continue
		}
		for _, field := range side.Fields() {
			o := side.Origin(field.Pointer)
			files[o.Path] = true
			for _, link := range o.Chain {
				files[link.Path] = true
			}
		}
	}
	for path := range l.pairs.reads(p.Root) {
		files[path] = true
	}
	for path := range files {
		if path != out.Path && l.trees.Changed(path) {
			out.With = append(out.With, report.File{Path: path, Blob: l.trees.Head.Blob(path)})
		}
	}
	slices.SortFunc(out.With, func(a, b report.File) int { return cmp.Compare(a.Path, b.Path) })
	if !l.trees.Changed(out.Path) && len(out.With) > 0 { // the owner of the file that the change edits decides
		out.Path, out.Line, out.With = out.With[0].Path, 0, out.With[1:]
	}
	out.Blob = l.trees.Head.Blob(out.Path)
	if slices.Contains(l.change.Approve, out.Path) {
		out.State, out.By = report.Approved, []string{"--approve"}
	}
	for i, r := range l.change.Reviews {
		if !r.Of(out.Path, out.Blob, out.With) {
			continue
		}
		out.Review = &l.change.Reviews[i]
		if r.State() != report.Pending {
			out.State, out.By = r.State(), r.By()
		}
	}
	return out
}

// list describes the altered objects that blocking findings rely on. takes selects the findings; nil selects all.
func (l *lookups) list(findings []report.Finding, takes func(report.Finding) bool) (list []report.Exception) {
	for _, waits := range l.known {
		for _, e := range waits {
			for _, f := range findings {
				if x := f.Exemption; x != nil && (takes == nil || takes(f)) && x.Path == e.Path && x.Exception == e.Name &&
					(f.Blocks || f.Result == report.Skip) {
					e.Lets++
				}
			}
			if e.Lets > 0 {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b report.Exception) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	return list
}

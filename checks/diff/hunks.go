package diff

import (
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// around is the number of unchanged lines shown before and after a difference.
const around = 3

// Hunks returns the difference between two versions of an object of JSON values, as lines of YAML with the field of
// each. A nil version does not exist. Unchanged parts are printed only next to a difference, so the cost depends on its
// size.
func Hunks(was, now map[string]any) []report.DiffHunk {
	var w walk
	w.maps(node{at: &fieldPath{}}, was, now)
	return w.hunks()
}

// item is a line, or an unchanged part of the object that is printed only if it is needed.
type item struct {
	line report.DiffLine
	at   *fieldPath
	same *node
}

func (i item) differs() bool { return i.same == nil && i.line.Sign != " " }

// head appends the first lines of an item, until there are n.
func (i item) head(list []report.DiffLine, n int) []report.DiffLine {
	if i.same == nil {
		return append(list, i.line)
	}
	return i.same.head(list, n)
}

// tail is head for the last lines, in reverse.
func (i item) tail(list []report.DiffLine, n int) []report.DiffLine {
	if i.same == nil {
		return append(list, i.line)
	}
	return i.same.tail(list, n)
}

// walk collects the items of two versions.
type walk struct{ items []item }

func (w *walk) add(sign string, n node) {
	for _, l := range n.head(nil, maxLines) {
		l.Sign = sign
		w.items = append(w.items, item{line: l, at: n.at})
	}
}

// maxLines limits the printed lines of one differing field.
const maxLines = 1 << 20

// values compares the values of both versions at one place.
func (w *walk) values(n node, was, now any) {
	if Same(was, now) {
		n.value = now
		w.items = append(w.items, item{same: &n, at: n.at})
		return
	}
	switch was := was.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok && len(was) > 0 && len(now) > 0 {
			w.maps(w.enter(n, now), was, now)
			return
		}
	case []any:
		if now, ok := now.([]any); ok && len(was) > 0 && len(now) > 0 {
			w.lists(w.enter(n, now), was, now)
			return
		}
	case string:
		if now, ok := now.(string); ok && w.texts(n, was, now) {
			return
		}
	}
	w.add("-", n.with(was))
	w.add("+", n.with(now))
}

// enter prints the line of a container and returns the node of its elements.
func (w *walk) enter(n node, value any) node {
	n.value = value
	lines, inner := n.open()
	for _, l := range lines {
		w.items = append(w.items, item{line: l, at: n.at})
	}
	return inner
}

// Same reports whether two JSON values are the same.
func Same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Same)
	}
	return a == b
}

func (w *walk) maps(n node, was, now map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(was))
	slices.Sort(keys)
	olds, news := 0, 0 // number of printed elements
	for _, key := range slices.Compact(keys) {
		old, before := was[key]
		new, after := now[key]
		removed, added := n.entry(olds, key).with(old), n.entry(news, key).with(new)
		switch {
		case before && after && removed.lead == added.lead:
			w.values(added, old, new)
		default: // also where one version begins an element of a list
			if before {
				w.add("-", removed)
			}
			if after {
				w.add("+", added)
			}
		}
		if before {
			olds++
		}
		if after {
			news++
		}
	}
}

func (w *walk) lists(n node, was, now []any) {
	from := Align(was, now)
	stays := rising(from)
	next := 0
	remove := func(to int) {
		for ; next < to; next++ {
			w.add("-", n.element(next, next, was[next]).with(was[next]))
		}
	}
	for i, value := range now {
		added := n.element(i, i, value).with(value)
		if !stays[i] {
			w.add("+", added)
			continue
		}
		remove(from[i])
		if removed := n.element(next, next, was[next]).with(was[next]); removed.lead == added.lead {
			w.values(added, was[next], value)
		} else {
			w.add("-", removed)
			w.add("+", added)
		}
		next++
	}
	remove(len(was))
}

// rising reports for each element whether it keeps its place. As many elements as possible keep theirs.
func rising(from []int) []bool {
	var ends []int // by length - 1: the last element of the sequence of that length whose origin is lowest
	before := make([]int, len(from))
	for i, k := range from {
		if k < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, k, func(e, k int) int { return from[e] - k })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	stays := make([]bool, len(from))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			stays[i] = true
		}
	}
	return stays
}

// texts compares strings of several lines line by line. It returns false for other strings.
func (w *walk) texts(n node, was, now string) bool {
	old, new := n.with(was).block(), n.with(now).block()
	if old == nil || new == nil {
		return false
	}
	if old[0].Text == new[0].Text {
		w.items = append(w.items, item{line: new[0], at: n.at})
	} else {
		w.items = append(w.items, item{line: signed(old[0], "-"), at: n.at}, item{line: signed(new[0], "+"), at: n.at})
	}
	old, new = old[1:], new[1:]
	text := func(list []report.DiffLine) []string {
		return report.Mapped(list, func(l report.DiffLine) string { return l.Text })
	}
	for _, e := range view.LineEdits(text(old), text(new)) {
		line := report.DiffLine{}
		switch e {
		case '-':
			line, old = old[0], old[1:]
		case '+':
			line, new = new[0], new[1:]
		default:
			line, old, new = new[0], old[1:], new[1:]
		}
		w.items = append(w.items, item{line: signed(line, string(e)), at: n.at})
	}
	return true
}

func signed(l report.DiffLine, sign string) report.DiffLine {
	l.Sign = sign
	return l
}

// hunks groups the items into differences with a few lines around each.
func (w *walk) hunks() (list []report.DiffHunk) {
	items := w.items
	for len(items) > 0 {
		n := slices.IndexFunc(items, item.differs)
		if n < 0 {
			break
		}
		inside := items[n].at
		if items[n].line.Part == 0 {
			inside = inside.container()
		}
		hunk := report.DiffHunk{Path: inside.String(), Lines: last(items[:n], around)}
		items = items[n:]
		for len(items) > 0 {
			if items[0].differs() {
				hunk.Lines, items = append(hunk.Lines, items[0].line), items[1:]
				continue
			}
			n := slices.IndexFunc(items, item.differs)
			if n < 0 {
				hunk.Lines, items = append(hunk.Lines, first(items, around)...), nil
				break
			}
			between := first(items[:n], 2*around+1)
			if len(between) > 2*around {
				hunk.Lines = append(hunk.Lines, between[:around]...)
				break // items keeps these lines, since they also begin the next hunk
			}
			hunk.Lines, items = append(hunk.Lines, between...), items[n:]
		}
		list = append(list, hunk)
	}
	return list
}

// first returns up to n lines from the beginning of items.
func first(items []item, n int) (list []report.DiffLine) {
	for _, i := range items {
		if len(list) >= n {
			break
		}
		list = i.head(list, n)
	}
	return list[:min(n, len(list))]
}

// last returns up to n lines from the end of items.
func last(items []item, n int) (list []report.DiffLine) {
	for _, i := range slices.Backward(items) {
		if len(list) >= n {
			break
		}
		list = i.tail(list, n)
	}
	list = list[:min(n, len(list))]
	slices.Reverse(list)
	return list
}

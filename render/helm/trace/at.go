package trace

import (
	"cmp"
	"slices"
	"strings"
)

// At returns where bytes of a template's output came from, in this order: the main origin; other origins of the bytes;
// values that would have been used if they were not empty; conditions, the innermost first. It returns nil for output
// that is not accepted. Length 0 is an empty value: its origins are those of the actions that printed nothing there.
func (t *Trace) At(template string, offset, length int) []Origin {
	f := t.files[template]
	if f == nil || f.err != nil || offset < 0 || length < 0 || offset+length > len(f.out) {
		return nil
	}
	if length > 0 {
		return t.origins(cut(f.segments, offset, offset+length))
	}
	var empty []segment
	rest := f.out[offset:]
	for _, g := range cut(f.segments, offset, offset+len(rest)-len(strings.TrimLeft(rest, " "))) {
		if g.skipped != nil && g.org != nil {
			g.n = 1
			empty = append(empty, g)
		}
	}
	return t.origins(empty)
}

// Fallbacks returns the empty values that other values in a template's output replace. These are the origins that At
// returns with the role Fallback for any part of the output, in order, perhaps with duplicates.
func (t *Trace) Fallbacks(template string) (paths [][]string) {
	f := t.files[template]
	if f == nil || f.err != nil {
		return nil
	}
	seen, last := map[*node]bool{}, (*cond)(nil)
	for _, g := range f.segments {
		if g.cond == last || g.n == 0 {
			continue
		}
		last = g.cond
		g.cond.each(func(n *node, role Role) {
			if role == Fallback && n.kind == Value && !seen[n] {
				seen[n] = true
				paths = append(paths, t.scopes.canonical(n.path()))
			}
		})
	}
	return paths
}

type weighed struct {
	o    Origin
	n    int
	node *node
}

func (t *Trace) origins(segments []segment) []Origin {
	var found []weighed
	at := 0
	var conds *cond
	for _, g := range segments {
		if g.n > 0 {
			conds = join(conds, g.cond)
			g.org.leaves(func(n *node) { found = t.weigh(found, n, g, at) })
		}
		at += int(g.n)
	}
	slices.SortStableFunc(found, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(rank(a.o), rank(b.o)), -cmp.Compare(a.n, b.n))
	})
	var fall, cause []weighed
	conds.each(func(n *node, role Role) {
		g := segment{off: 0}
		if role == Fallback {
			fall = t.weigh(fall, n, g, 0)
		} else if len(cause) < maxConditions {
			cause = t.weigh(cause, n, g, 0)
		}
	})
	var out []Origin
	for _, w := range found {
		out = append(out, w.o)
	}
	for _, w := range fall {
		w.o.Role = Fallback
		out = append(out, w.o)
	}
	for _, w := range cause {
		w.o.Role = Condition
		out = append(out, w.o)
	}
	return out
}

// rank orders origins. Copied bytes come before computed ones, and values that a person can set before text of the
// chart.
func rank(o Origin) int {
	r := 0
	if o.Role == Derived {
		r = 10
	}
	switch {
	case o.Kind == Value:
		return r
	case o.Kind == Key:
		return r + 1
	case o.Kind == Text && o.Role == Derived: // argument of a function
		return r + 4
	case o.Kind == File || o.Kind == Text:
		return r + 2
	}
	return r + 3
}

// weigh adds the origin of a segment to a list, or adds its bytes to an entry of the same origin.
func (t *Trace) weigh(found []weighed, n *node, g segment, at int) []weighed {
	role := Verbatim
	if g.off < 0 {
		role = Derived
	}
	for i := range found {
		w := &found[i]
		if w.node == n && w.o.Role == role && (n.kind != Text || w.o.Offset == n.off+int(max(g.off, 0))) {
			w.n += int(g.n)
			return found
		}
	}
	length := int(g.n)
	if role == Derived {
		length = 0
	}
	o := t.origin(n, int(max(g.off, 0)), length)
	o.Role, o.At = role, at
	return append(found, weighed{o, int(g.n), n})
}

// origin returns the description of a node.
func (t *Trace) origin(n *node, off, length int) Origin {
	o := Origin{Kind: n.kind, Offset: off, Length: length}
	switch n.kind {
	case Value:
		o.Path = t.scopes.canonical(n.path())
	case Key:
		o.Path = t.scopes.canonical(append(n.up.path(), n.key))
	case Text:
		o.Template, o.Offset = n.chart, n.off+off
		if n.length > 0 {
			o.Length = n.length
		}
		if f := t.sources[n.chart]; o.Offset <= len(f) {
			o.Line = 1 + strings.Count(f[:o.Offset], "\n")
		}
	case File:
		o.Template, o.Name = n.chart, strings.Join(n.path(), "/")
	case Release, Chart, Capabilities, Template:
		o.Template, o.Path = n.chart, n.path()
	case Random, Lookup:
		o.Name = n.key
	}
	return o
}

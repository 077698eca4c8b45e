package trace

import (
	"reflect"
	"slices"
)

// taint says where a value came from. A string has segments that cover it, or one origin. Other values have one origin;
// maps and slices have more precise ones in the table.
type taint struct {
	org      *node
	segments []segment
	cond     *cond
	derived  bool // of a string without segments: computed from the origin, not copied
}

// segment is a part of a string.
type segment struct {
	n, off  int32 // length, and offset in the origin; a negative offset means computed
	org     *node // nil: unknown, or structure between values
	cond    *cond
	skipped *skippedBlock // of a segment without length
}

// value is a value in a template with its taint. rv is exactly the value that text/template has.
type value struct {
	rv reflect.Value
	sh taint
}

// of returns the segments of a string of n bytes with this taint.
func (s taint) of(n int) []segment {
	if s.segments != nil {
		return s.segments
	}
	if n == 0 {
		return nil
	}
	off := int32(0)
	if s.derived {
		off = -1
	}
	return []segment{{n: int32(n), off: off, org: s.org, cond: s.cond}}
}

// mix returns the origin of the whole value.
func (s taint) mix() *node {
	if s.segments == nil {
		return s.org
	}
	var m mixer
	for _, g := range s.segments {
		m.add(g.origin())
	}
	return m.node()
}

// origin returns the origin of a segment, with its place in a template's text.
func (g segment) origin() *node {
	if g.org != nil && g.org.kind == Text && g.org.length == 0 && g.off >= 0 && g.n > 0 {
		return &node{kind: Text, chart: g.org.chart, off: g.org.off + int(g.off), length: int(g.n)}
	}
	return g.org
}

// conds returns the conditions of all segments.
func (s taint) conds() *cond {
	c := s.cond
	for i, g := range s.segments {
		if i == 0 || g.cond != s.segments[i-1].cond {
			c = join(c, g.cond)
		}
		if i > maxConditions {
			break
		}
	}
	return c
}

// text is a string under construction, with its segments.
type text struct {
	buf      []byte
	segments []segment
}

// add appends a string with its taint, under a condition.
func (t *text) add(s string, sh taint, c *cond) {
	t.buf = append(t.buf, s...)
	if sh.segments != nil && sh.cond != nil {
		c = join(sh.cond, c)
	}
	t.addSegs(sh.of(len(s)), c)
}

func (t *text) addSegs(segments []segment, c *cond) {
	if len(segments) > cap(t.segments)-len(t.segments) {
		t.segments = slices.Grow(t.segments, len(segments))
	}
	for _, g := range segments {
		if g.cond != c {
			g.cond = join(g.cond, c)
		}
		t.piece(g)
	}
}

// piece appends a segment whose bytes are already in buf, or that has none.
func (t *text) piece(g segment) {
	if k := len(t.segments) - 1; k >= 0 && g.skipped == nil {
		l := &t.segments[k]
		if l.skipped == nil && l.org == g.org && l.cond == g.cond &&
			(l.off >= 0 && l.off+l.n == g.off || l.off < 0 && g.off < 0) {
			l.n += g.n
			return
		}
	}
	t.segments = append(t.segments, g)
}

// plain appends bytes that are attributed to an origin but not copied from it: padding, quotes, punctuation.
func (t *text) plain(s string, org *node, c *cond) {
	if s != "" {
		t.buf = append(t.buf, s...)
		t.piece(segment{n: int32(len(s)), off: -1, org: org, cond: c})
	}
}

func (t *text) taint() taint {
	if t.segments == nil {
		return taint{}
	}
	return taint{segments: t.segments}
}

// cut returns the segments of the bytes from i to j. Segments without length at the borders are included.
func cut(segments []segment, i, j int) []segment {
	var out []segment
	at := 0
	for _, g := range segments {
		from, to := at, at+int(g.n)
		at = to
		if g.n == 0 {
			if from >= i && from <= j {
				out = append(out, g)
			}
			continue
		}
		if to <= i || from >= j {
			continue
		}
		if from < i {
			if g.off >= 0 {
				g.off += int32(i - from)
			}
			from = i
		}
		g.n = int32(min(to, j) - from)
		out = append(out, g)
	}
	return out
}

// cutter cuts consecutive parts of a string in one pass.
type cutter struct {
	segments []segment
	k        int // index of the current segment
	used     int // bytes of the current segment that were taken
	at       int // bytes of the string that were taken
}

// keep appends the next part of the string with its pieces.
func (c *cutter) keep(t *text, s string) {
	t.buf = append(t.buf, s...)
	c.next(len(s), t.piece)
}

// drop skips the next n bytes, but keeps skipped blocks among them.
func (c *cutter) drop(t *text, n int) {
	c.next(n, func(g segment) {
		if g.n == 0 {
			t.piece(g)
		}
	})
}

// next takes the segments of the next n bytes, and segments without length after them.
func (c *cutter) next(n int, take func(segment)) {
	c.at += n
	for c.k < len(c.segments) {
		g := c.segments[c.k]
		if g.n == 0 {
			take(g)
			c.k++
			continue
		}
		if n == 0 {
			return
		}
		rest := int(g.n) - c.used
		some := min(rest, n)
		if g.off >= 0 {
			g.off += int32(c.used)
		}
		g.n = int32(some)
		take(g)
		n -= some
		if some == rest {
			c.k, c.used = c.k+1, 0
		} else {
			c.used += some
		}
	}
}

// rewrite appends a string in which some places, given by their bounds, are replaced.
func (t *text) rewrite(s string, sh taint, places [][]int, by func(place []int) (string, taint)) {
	pieces := cutter{segments: sh.of(len(s))}
	for _, m := range places {
		pieces.keep(t, s[pieces.at:m[0]])
		pieces.drop(t, m[1]-m[0])
		with, of := by(m)
		t.add(with, of, nil)
	}
	pieces.keep(t, s[pieces.at:])
}

// sub returns the taint of s[i:j], where s has n bytes.
func (s taint) sub(n, i, j int) taint {
	if i == 0 && j == n {
		return s
	}
	segments := cut(s.of(n), i, j)
	if segments == nil {
		return taint{org: s.org, cond: s.cond}
	}
	return taint{segments: segments, cond: s.cond}
}

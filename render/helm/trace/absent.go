package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Candidate is a value that would print a field which is not there.
type Candidate struct {
	// Path is what to set, from the values of the top chart. It ends with those of the field's keys that the template
	// does not spell itself.
	Path []string
	// Needs are the values that have to count as true too, because the block that prints the field asks for them.
	Needs [][]string
	// Switch means that Path is such a value itself: the template spells the field's value.
	Switch bool

	score int
}

// The worth of what candidates are found by. A key that the template spells is worth keyScore.
const (
	ownScore     = 100 // other keys of the mapping are printed of it
	feedScore    = 80  // other keys of the mapping are of a map that it would have been merged into
	skippedScore = 50  // it would be printed where the field belongs
	litScore     = 30  // it switches text on that has the key
	keyScore     = 10
	nameScore    = 5 // its name is like the key's
	needsScore   = 2
)

// Absent returns the values that would print a field which is not in a template's output, the likeliest first, or
// nothing if the chart has none. The field is told by the nearest mapping above it that is there, as a range of bytes
// of the output that begins with its first key (or is "{}"), and the keys that are missing below it.
func (t *Trace) Absent(template string, offset, length int, keys []string) []Candidate {
	f := t.files[template]
	if f == nil || f.err != nil || offset < 0 || length < 0 || offset+length > len(f.out) || len(keys) == 0 {
		return nil
	}
	from, to := widen(f.out, offset, offset+length)
	col := offset - (strings.LastIndexByte(f.out[:offset], '\n') + 1)
	a := &absence{trace: t, keys: keys, template: template, col: col}
	a.siblings(f, offset, offset+length)
	a.skipped(f, from, to)
	slices.SortStableFunc(a.found, func(x, y Candidate) int { return cmp.Compare(y.score, x.score) })
	return a.found
}

// widen takes the blanks around a range into it: a block that was skipped leaves its mark there.
func widen(s string, from, to int) (int, int) {
	for from > 0 && strings.IndexByte(" \n\t-", s[from-1]) >= 0 {
		from--
	}
	for to < len(s) && strings.IndexByte(" \n\t", s[to]) >= 0 {
		to++
	}
	return from, to
}

type absence struct {
	trace    *Trace
	keys     []string
	template string
	col      int // where the keys of the mapping begin
	found    []Candidate
}

// add takes a candidate: a value and the keys that are missing below it.
func (a *absence) add(n *node, rest []string, needs []*node, on bool, score int) {
	if n == nil || n.kind != Value || n.up == nil {
		return
	}
	if len(rest) > 0 && rest[0] == n.key {
		if _, err := strconv.Atoi(n.key); err == nil { // the element that a range would have is the one that is missing
			rest = rest[1:]
		}
	}
	c := Candidate{Path: a.trace.scopes.canonical(append(n.path(), rest...)), Switch: on, score: score}
	last := strings.ToLower(n.key)
	if k := strings.ToLower(a.keys[0]); strings.Contains(last, k) || strings.Contains(k, last) {
		c.score += nameScore
	}
	for _, need := range needs {
		if need == nil || need.kind != Value || need.up == nil {
			continue
		}
		p := a.trace.scopes.canonical(need.path())
		if !prefix(p, c.Path) && !slices.ContainsFunc(c.Needs, func(q []string) bool { return slices.Equal(p, q) }) {
			c.Needs = append(c.Needs, p)
			c.score -= needsScore
		}
	}
	for i := range a.found {
		if slices.Equal(a.found[i].Path, c.Path) {
			if c.score > a.found[i].score {
				a.found[i] = c
			}
			return
		}
	}
	a.found = append(a.found, c)
}

func prefix(p, of []string) bool { return len(p) <= len(of) && slices.Equal(p, of[:len(p)]) }

// siblings looks at the mapping's own keys: where they are keys of values, so will others be.
func (a *absence) siblings(f *traced, from, to int) {
	at := 0
	for _, g := range f.segments {
		i := at
		at += int(g.n)
		if i < from || i >= to || g.n == 0 || g.org == nil {
			continue
		}
		if i-(strings.LastIndexByte(f.out[:i], '\n')+1) != a.col {
			continue
		}
		switch {
		case g.org.kind == Key && g.off >= 0:
			a.add(g.org.up, a.keys, nil, false, ownScore)
		case g.org.kind == Value && i == from && slices.Contains([]string{"{}", "null", "[]"}, f.out[from:to]):
			a.add(g.org, a.keys, nil, false, ownScore)
		}
	}
}

// skipped looks at the blocks that were skipped and at the actions that printed nothing.
func (a *absence) skipped(f *traced, from, to int) {
	at := 0
	seen := map[*skippedBlock]bool{}
	for _, g := range f.segments {
		if at > to {
			break
		}
		if g.skipped != nil && at >= from && !seen[g.skipped] {
			seen[g.skipped] = true
			if g.skipped.feed != nil {
				if indented(f.out, at, a.col) {
					a.add(g.skipped.feed, a.keys, nil, false, feedScore)
				}
				continue
			}
			a.match(a.trace.exec.assume(g.skipped, a.template))
		}
		at += int(g.n)
	}
}

// match finds the missing keys in what a skipped block would print.
func (a *absence) match(events []event) {
	m := matching{absence: a, indent: -1}
	for _, e := range events {
		if e.text != "" {
			m.text(e)
		} else {
			m.read(e)
		}
	}
	if len(a.found) == 0 && len(events) > 0 {
		m.switches(events[0])
	}
}

// switches takes what a block asks for as candidates, if the block spells all of the field.
func (m *matching) switches(e event) {
	if len(undecimal(m.keys[m.matched:])) > 0 || m.matched == 0 {
		return
	}
	for _, n := range e.needs {
		m.add(n, nil, nil, true, litScore+m.matched*keyScore)
	}
}

// matching is how far the missing keys were found in what a skipped block would print.
type matching struct {
	*absence
	matched int
	indent  int
	pending bool // the last key that was found has nothing behind it yet
	other   bool // another key stands in front
}

func (m *matching) text(e event) {
	text := e.text
	for {
		next, deep, rest, ok := m.spelled(text, e.shift, m.matched, m.indent)
		if !ok {
			break
		}
		m.matched, m.indent, m.pending = next, deep, strings.TrimSpace(rest) == ""
		text = rest
		if line, _, _ := strings.Cut(rest, "\n"); strings.TrimSpace(line) != "" {
			m.switches(e)
		}
	}
	s := strings.TrimSpace(text)
	if s == "" {
		return
	}
	m.other = strings.HasSuffix(s, ":")
	m.pending = m.pending && strings.Trim(s, "\"'|-") == ""
}

func (m *matching) read(e event) {
	rest := m.keys[m.matched:]
	score := skippedScore + m.matched*keyScore
	switch {
	case m.matched > 0 && m.pending:
		if !e.yaml {
			rest = undecimal(rest)
			m.pending = len(rest) > 0
		}
	case !e.yaml || m.other || m.matched == 0 && e.shift >= 0 && e.shift != m.col:
		return
	default:
		score -= nameScore
	}
	for _, n := range e.reads {
		if m.matched > 0 || m.trace.mapping(n) {
			m.add(n, rest, e.needs, false, score)
		}
	}
}

// mapping reports whether a value is a mapping or nothing yet.
func (t *Trace) mapping(n *node) bool {
	var v any = t.scopes.values
	for _, k := range n.path() {
		m, ok := asMap(v)
		if !ok {
			return v == nil
		}
		v = m[k]
	}
	_, ok := asMap(v)
	return ok || v == nil
}

// undecimal leaves out the indexes of lists at the beginning: what a template prints in an element of its own list.
func undecimal(keys []string) []string {
	for len(keys) > 0 {
		if _, err := strconv.Atoi(keys[0]); err != nil {
			break
		}
		keys = keys[1:]
	}
	return keys
}

// spelled finds the next missing key in a text, deeper than the last. The first has to stand where the mapping's keys
// stand, if the text's column is known.
func (a *absence) spelled(text string, shift, matched, indent int) (next, deep int, rest string, ok bool) {
	for next = matched; next < len(a.keys); next++ {
		if _, err := strconv.Atoi(a.keys[next]); err == nil {
			continue
		}
		re, err := regexp.Compile(`(?m)^([ \t]*(?:- )?)["']?` + regexp.QuoteMeta(a.keys[next]) + `["']?:`)
		if err != nil {
			return 0, 0, "", false
		}
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			n := m[3] - m[2]
			if matched == 0 && next == 0 && shift >= 0 && n+shift != a.col && m[2] > 0 {
				continue
			}
			if n > indent || indent < 0 {
				return next + 1, n, text[m[1]:], true
			}
		}
		return 0, 0, "", false
	}
	return 0, 0, "", false
}

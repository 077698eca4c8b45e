package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/helm"
)

// Candidate is a value that would print a missing field.
type Candidate struct {
	// Path is the path to set, from the values of the top chart. It includes those keys of the field that the template
	// does not contain.
	Path []string
	// Needs are other values that must be true, because the block that prints the field depends on them.
	Needs [][]string
	// Switch means that Path is a condition: the template itself contains the field's value.
	Switch bool

	score int
}

// Scores of candidates, by how they were found. keyScore is added for each key that the template contains.
const (
	ownScore     = 100 // other keys of the mapping come from it
	feedScore    = 80  // other keys of the mapping come from a map that it would be merged into
	skippedScore = 50  // it would be printed at the place of the field
	litScore     = 30  // it enables text that contains the key
	keyScore     = 10
	nameScore    = 5 // its name is similar to the key
	needsScore   = 2
)

// Absent returns the values that would print a missing field of a template's output, the likeliest first; nothing if
// the chart has none. The field is given by its nearest existing parent mapping and the missing keys below it. The
// mapping is a range of bytes of the output that starts at its first key (or is "{}").
func (t *Trace) Absent(template string, offset, length int, keys []string) []Candidate {
	f := t.files[template]
	if f == nil || f.err != nil || offset < 0 || length < 0 || offset+length > len(f.out) || len(keys) == 0 {
		return nil
	}
	// Skipped blocks leave their marks in the white space around it, too.
	from := len(strings.TrimRight(f.out[:offset], " \n\t-"))
	to := len(f.out) - len(strings.TrimLeft(f.out[offset+length:], " \n\t"))
	col := offset - (strings.LastIndexByte(f.out[:offset], '\n') + 1)
	a := &absence{trace: t, keys: keys, template: template, col: col}
	a.siblings(f, offset, offset+length)
	a.skipped(f, from, to)
	slices.SortStableFunc(a.found, func(x, y Candidate) int { return cmp.Compare(y.score, x.score) })
	return a.found
}

type absence struct {
	trace    *Trace
	keys     []string
	template string
	col      int // column of the mapping's keys
	found    []Candidate
}

// add adds a candidate: a value, and the missing keys below it.
func (a *absence) add(n *node, rest []string, needs []*node, on bool, score int) {
	if n == nil || n.kind != Value || n.up == nil {
		return
	}
	if len(rest) > 0 && rest[0] == n.key {
		if _, err := strconv.Atoi(n.key); err == nil { // the missing element is the one that a range would produce
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

// siblings adds the map of values from which other keys of the mapping come, if there is one.
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

// skipped searches the skipped blocks, and the actions that printed nothing.
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

// match searches for the missing keys in what a skipped block would print.
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

// switches adds the conditions of a block as candidates, if the block contains the whole field.
func (m *matching) switches(e event) {
	if len(undecimal(m.keys[m.matched:])) > 0 || m.matched == 0 {
		return
	}
	for _, n := range e.needs {
		m.add(n, nil, nil, true, litScore+m.matched*keyScore)
	}
}

// matching is the state of the search for the missing keys in what a skipped block would print.
type matching struct {
	*absence
	matched int
	indent  int
	pending bool // nothing has followed the last matched key yet
	other   bool // another key comes before
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

// mapping reports whether a value is a mapping or missing.
func (t *Trace) mapping(n *node) bool {
	var v any = t.scopes.values
	for _, k := range n.path() {
		m, ok := helm.AsMap(v)
		if !ok {
			return v == nil
		}
		v = m[k]
	}
	_, ok := helm.AsMap(v)
	return ok || v == nil
}

// undecimal removes leading indexes of lists, as the template may print a list itself.
func undecimal(keys []string) []string {
	for len(keys) > 0 {
		if _, err := strconv.Atoi(keys[0]); err != nil {
			break
		}
		keys = keys[1:]
	}
	return keys
}

// spelled finds the next missing key in a text, with a deeper indentation than the last one. The first key must be in
// the column of the mapping's keys, if the column of the text is known.
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

package trace

import (
	"cmp"
	"slices"
	"strings"
)

// OriginKind is the kind of an origin.
type OriginKind int

// The kinds of origins.
const (
	Value        OriginKind = iota + 1 // a path in the merged values
	Key                                // the name of a key in the merged values
	Text                               // a place in a template
	File                               // a file of the chart, read by .Files
	Release                            // .Release
	Chart                              // .Chart
	Capabilities                       // .Capabilities
	Template                           // .Template
	Random                             // a function with a made-up result: random, time, keys
	Lookup                             // the cluster, by the function lookup
)

// String returns the kind's name in lower case.
func (k OriginKind) String() string {
	names := [...]string{"none", "value", "key", "text", "file", "release", "chart", "capabilities", "template",
		"random", "lookup"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Role says how an origin affects bytes.
type Role int

// The roles, in the order in which At returns them.
const (
	Verbatim  Role = iota // the bytes were copied from the origin
	Derived               // the bytes were computed from the origin, perhaps with others
	Fallback              // it is empty or missing; if it were set, it would be used instead
	Condition             // it decided whether the bytes are printed

	assumed Role = -1 // a condition that was assumed to be true
)

// String returns the role's name in lower case.
func (r Role) String() string {
	return [...]string{"verbatim", "derived", "fallback", "condition"}[r]
}

// Origin is one of the origins of bytes in a template's output.
type Origin struct {
	Kind OriginKind
	Role Role

	// Path of a Value starts at the values of the top chart, whatever the scope it was read in; indexes of lists are
	// decimal. Path of a Key ends with the key. Path of Release, Chart and Capabilities consists of field names.
	Path []string

	Template     string // Text: name of the template, as in Helm's output; Chart, File: full path of the chart
	Offset, Line int    // Text: byte offset in the template, and its line from 1; Value, File: offset in the string
	Length       int    // length in the origin: of the literal, or of the string
	Name         string // File: name below the chart's folder; Random, Lookup: the function

	At int // Verbatim, Derived: where its bytes start within the requested ones
}

// node is an internal origin. There is only one node for each path.
type node struct {
	kind   OriginKind // 0: a mixture of parts
	up     *node
	key    string
	off    int // Text: base offset; else not used
	length int // Text: length of the literal
	chart  string
	kids   map[string]*node
	keyed  map[string]*node
	parts  []*node // of a mixture, not nested
}

const maxParts = 48

// child returns the origin of the value at a key or field of a value with this origin.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	switch n.kind {
	case Value, Release, Chart, Capabilities, File:
	default:
		return n
	}
	if k := n.kids[key]; k != nil {
		return k
	}
	k := &node{kind: n.kind, up: n, key: key, chart: n.chart}
	if n.kids == nil {
		n.kids = map[string]*node{}
	}
	n.kids[key] = k
	return k
}

// keyNode returns the origin of a key's name.
func (n *node) keyNode(key string) *node {
	if n == nil || n.kind != Value {
		return n
	}
	if k := n.keyed[key]; k != nil {
		return k
	}
	k := &node{kind: Key, up: n, key: key}
	if n.keyed == nil {
		n.keyed = map[string]*node{}
	}
	n.keyed[key] = k
	return k
}

func (n *node) isKey() bool { return n != nil && n.kind == Key }

// path returns the keys from the root to the node.
func (n *node) path() []string {
	var p []string
	for ; n != nil && n.up != nil; n = n.up {
		p = append(p, n.key)
	}
	slices.Reverse(p)
	return p
}

// leaves calls f for each origin that is not a mixture.
func (n *node) leaves(f func(*node)) {
	switch {
	case n == nil:
	case n.kind == 0:
		for _, p := range n.parts {
			f(p)
		}
	default:
		f(n)
	}
}

// mixer collects origins in order, without duplicates.
type mixer struct {
	parts []*node
}

func (m *mixer) add(n *node) {
	n.leaves(func(l *node) {
		if len(m.parts) < maxParts && !slices.Contains(m.parts, l) {
			m.parts = append(m.parts, l)
		}
	})
}

func (m *mixer) node() *node {
	switch len(m.parts) {
	case 0:
		return nil
	case 1:
		return m.parts[0]
	}
	return &node{parts: m.parts}
}

// cond is a chain of conditions under which something was printed, the innermost first.
type cond struct {
	up    *cond
	also  *cond // a second chain: that of a value which was computed elsewhere
	org   *node
	role  Role
	depth int
}

// under returns the chain c with one more condition.
func (c *cond) under(org *node, role Role) *cond {
	if org == nil {
		return c
	}
	return &cond{up: c, org: org, role: role, depth: c.level() + 1}
}

func (c *cond) level() int {
	if c == nil {
		return 0
	}
	return c.depth
}

// maxChain is how many conditions has searches. If it misses one, a condition is only duplicated.
const maxChain = 512

// has reports whether other is c or one of its parents.
func (c *cond) has(other *cond) bool {
	if other == nil {
		return true
	}
	for i := 0; c != nil && c.depth >= other.depth && i < maxChain; c, i = c.up, i+1 {
		if c == other {
			return true
		}
	}
	return false
}

// join returns a chain with the conditions of both.
func join(a, b *cond) *cond {
	switch {
	case a.has(b):
		return a
	case b.has(a):
		return b
	}
	if a.level() < b.level() {
		a, b = b, a
	}
	if a.also == b {
		return a
	}
	return &cond{up: a, also: b, depth: a.depth + 1}
}

const maxConditions = 64

// each calls f for the conditions, the innermost first, once per condition.
func (c *cond) each(f func(n *node, role Role)) {
	seen := map[*cond]bool{}
	queue := []*cond{c}
	for len(queue) > 0 && len(seen) < 4*maxConditions {
		c := queue[0]
		queue = queue[1:]
		if c == nil || seen[c] {
			continue
		}
		seen[c] = true
		if c.org != nil {
			c.org.leaves(func(n *node) { f(n, c.role) })
		}
		queue = append(queue, c.up, c.also)
	}
}

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
			role := Verbatim
			if g.off < 0 {
				role = Derived
			}
			g.org.leaves(func(n *node) { found = t.weigh(found, n, g, at, role) })
		}
		at += int(g.n)
	}
	slices.SortStableFunc(found, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(rank(a.o), rank(b.o)), -cmp.Compare(a.n, b.n))
	})
	var fall, cause []weighed
	conds.each(func(n *node, role Role) {
		if role == Fallback {
			fall = t.weigh(fall, n, segment{}, 0, Fallback)
		} else if len(cause) < maxConditions {
			cause = t.weigh(cause, n, segment{}, 0, Condition)
		}
	})
	var out []Origin
	for _, w := range slices.Concat(found, fall, cause) {
		out = append(out, w.o)
	}
	return out
}

// rank orders origins. Values that a person can set come before text of the chart, and else copied bytes before computed
// ones.
func rank(o Origin) int {
	r := 0
	if o.Role == Derived {
		r = 10
	}
	switch {
	case o.Kind == Value:
		return r / 5
	case o.Kind == Key:
		return r + 1
	case o.Kind == Text && o.Role == Derived: // argument of a function
		return r + 5
	case o.Kind == File || o.Kind == Text:
		return r + 3
	}
	return r + 4
}

// weigh adds the origin of a segment to a list, or adds its bytes to an entry of the same origin.
func (t *Trace) weigh(found []weighed, n *node, g segment, at int, role Role) []weighed {
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

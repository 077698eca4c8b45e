package trace

import "slices"

// OriginKind is the kind of thing that a value of a template came from.
type OriginKind int

// The kinds of origins.
const (
	Value        OriginKind = iota + 1 // a path in the merged values
	Key                                // the name of a key in the merged values
	Text                               // a place in a template
	File                               // a file of the chart, by .Files
	Release                            // .Release
	Chart                              // .Chart
	Capabilities                       // .Capabilities
	Template                           // .Template
	Random                             // a function whose result is made up: random, time, keys
	Lookup                             // the cluster, by lookup
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

// Role is how an origin takes part in bytes.
type Role int

// The roles, in the order in which At returns them.
const (
	Verbatim  Role = iota // the bytes are the origin's own
	Derived               // the bytes were computed of it and possibly of others
	Fallback              // it is empty or absent; if it were set it would be used instead
	Condition             // it decided that the bytes are there

	assumed Role = -1 // of a condition: it was assumed
)

// String returns the role's name in lower case.
func (r Role) String() string {
	return [...]string{"verbatim", "derived", "fallback", "condition"}[r]
}

// Origin is one thing that bytes of a template's output came from.
type Origin struct {
	Kind OriginKind
	Role Role

	// Path leads to a Value from the values of the top chart, whatever the scope it was read in; elements of lists
	// are decimal. Of a Key it ends with the key. Of Release, Chart and Capabilities it is the fields' names.
	Path []string

	Template     string // Text: name of the template, as in Helm's output; Chart, File: full path of the chart
	Offset, Line int    // Text: byte offset in the template, and its line from 1; Value, File: offset in the string
	Length       int    // how many bytes of the origin: of the literal, of the string
	Name         string // File: name below the chart's folder; Random, Lookup: the function

	At int // Verbatim, Derived: where its bytes start within those asked for
}

// node is an origin in the making. Nodes of paths are interned: one node for each path.
type node struct {
	kind   OriginKind // 0: a mixture
	up     *node
	key    string
	off    int // Text: base offset; else unused
	length int // Text: of the literal
	chart  string
	kids   map[string]*node
	keyed  map[string]*node
	parts  []*node // of a mixture, flat
}

const maxParts = 48

// child returns the origin of what a key or field of a thing with this origin holds.
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

// keyNode returns the origin of the name of a key.
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

// mixer collects origins in order, each once.
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

// cond is what decided that something is there: a chain of conditions, the innermost first.
type cond struct {
	up    *cond
	also  *cond // a second chain: of a value that was computed elsewhere
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

// maxChain is how far up conditions are looked for; missing one costs a doubled condition.
const maxChain = 512

// has reports whether other is c or above it.
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

// each calls f for the conditions, innermost first, each node once.
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

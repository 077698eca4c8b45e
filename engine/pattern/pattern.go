// Package pattern compiles Kyverno's validation patterns into immutable programs and matches resources against them.
//
// The rules are those of https://kyverno.io/docs/policy-types/cluster-policy/validate/#patterns: maps and lists overlay
// the resource, anchors decide when an overlay applies, and leaves compare values with wildcards, operators, ranges,
// quantities and durations. Match returns every field that fails, not only the first one.
package pattern

import "slices"

// Limits of a pattern. They bound the recursion and the memory of Compile; no pattern that a person
// wrote comes near them.
const (
	maxDepth = 128       // nested maps and lists
	maxNodes = 1_000_000 // values in one pattern
)

// Pattern is a compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	root *node
}

// Verdict is the result of a pattern for a resource.
type Verdict int

// The verdicts of a match.
const (
	Pass Verdict = iota // the resource satisfies the pattern
	Fail                // at least one field does not
	Skip                // a conditional or global anchor says that the pattern does not apply
)

// Outcome is the result of matching one resource against one pattern. The zero value is a pass.
type Outcome struct {
	Verdict Verdict

	// Fields are RFC 6901 pointers into the resource of all the leaves that fail, sorted and unique; ""
	// is the resource itself. A key that is missing has the pointer it would have. For a negation
	// anchor it is the key that must not exist, for an existence anchor the list, and for a key with
	// wildcards that matches nothing the map that should hold it. Set only for Fail.
	Fields []string

	// Path is the failure that comes first in Kyverno's order of evaluation, as Kyverno prints it:
	// "/spec/containers/0/image/". It is empty for a Fail where Kyverno has no path to print and
	// reports the rule as "execution error: <Message>" instead (an anchor of the pattern was seen
	// nowhere in the resource, or a list is shorter than a pattern of lists).
	Path string

	// Message is the reason why the verdict is not Pass, in Kyverno's words.
	Message string
}

// Compile compiles a pattern: a JSON tree in which no variables are left, with numbers as int, int64 or float64. The
// tree is not kept. The error is a *jsonpointer.Error: for a malformed anchor, for +() which only mutation has, for an
// existence anchor without a list, and for patterns beyond the limits of nesting (128) and size (a million values).
func Compile(raw any) (*Pattern, error) {
	c := compiler{}
	root, err := c.compile(raw, placeOther)
	if err != nil {
		return nil, err
	}
	return &Pattern{root: root}, nil
}

// Match compares a resource, or one element of it, with the pattern. The resource is a JSON tree with
// numbers as int64 or float64; it is only read. A pattern that passes allocates nothing.
func (p *Pattern) Match(resource any) Outcome {
	switch p.root.match(resource, nil) {
	case pass:
		return Outcome{}
	case fail:
		// The first run only decides. The second one explains, and continues after a failure.
		r := newRecorder()
		p.root.match(resource, r)
		slices.Sort(r.fields)
		return Outcome{
			Verdict: Fail,
			Fields:  slices.Compact(r.fields),
			Path:    r.printedPath(),
			Message: r.first.text,
		}
	default:
		r := newRecorder()
		p.root.match(resource, r)
		return Outcome{Verdict: Skip, Message: r.text}
	}
}

// AsksWithAnchor reports whether an anchor asks for a field of the resource, or with a parent, of a map in it.
func (p *Pattern) AsksWithAnchor(parent, field string) bool {
	nodes := []*node{p.root}
	if parent != "" {
		nodes = nil
		for _, e := range slices.Concat(p.root.anchors, p.root.fields) {
			if e.name == parent && e.value != nil {
				nodes = append(nodes, e.value)
			}
		}
	}
	return slices.ContainsFunc(nodes, func(n *node) bool {
		return slices.ContainsFunc(slices.Concat(n.anchors, n.fields), func(e entry) bool { return e.anchor != anchorNone && e.name == field })
	})
}

// Unknown stands in a resource for a value that is not known.
type Unknown bool

// Whatever a pattern asks of the value, Matching has it, and Mismatched has not.
const (
	Matching   Unknown = true
	Mismatched Unknown = false
)

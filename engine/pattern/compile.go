package pattern

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// shape is the type that a node of a pattern requires of its value.
type shape byte

const (
	shapeScalar      shape = iota // one value, or every element of a list
	shapeMap                      // a map
	shapeListOfMaps               // a list, each element against one map
	shapeListOfLists              // a list, element by element
	shapeEmptyList                // a list; never satisfied, as in Kyverno
)

// node is a compiled part of a pattern.
type node struct {
	shape  shape
	scalar *Scalar // shapeScalar; for a list of scalars the first of them, see compileList

	anchors []entry // shapeMap: conditional, equality, negation, existence, in order of evaluation
	fields  []entry // shapeMap: global anchors and plain keys, in order of evaluation

	// expanded replaces this map if the object has labels (bit 1) or annotations (bit 2) to compare with those of the
	// pattern; nil if that makes no difference. See metadata.go.
	expanded *[4]*node

	elements []*node // shapeListOfMaps: only the first counts; shapeListOfLists: all
	list     bool    // shapeScalar: written as a list, so the value has to be one
	anchored bool    // there is an anchor here or anywhere below
}

// entry is one key of a map.
type entry struct {
	anchor   anchor
	name     string // the field, without its anchor
	raw      string // the key as written
	wild     bool   // name holds wildcards and stands for all keys that match
	anything bool   // a plain key with the pattern "*": present with any value that is not null
	value    *node
	some     []*node // existence anchor: each must match an element, which only a map can
}

// place is where in the pattern a map is: wildcards in keys count only in labels and annotations.
type place byte

const (
	placeOther place = iota
	placeMetadata
	placeLabels
)

func (p place) child(name string) place {
	switch {
	case name == "metadata":
		return placeMetadata
	case p == placeMetadata && (name == "labels" || name == "annotations"):
		return placeLabels
	}
	return placeOther
}

type compiler struct {
	at    []string // keys and indexes from the root to here
	nodes int
}

func (c *compiler) errorf(format string, args ...any) error {
	return jsonpointer.Errorf(jsonpointer.Join(c.at...), format, args...)
}

func (c *compiler) enter(token string) { c.at = append(c.at, token) }
func (c *compiler) leave()             { c.at = c.at[:len(c.at)-1] }

func (c *compiler) compile(raw any, at place) (*node, error) {
	if c.nodes++; c.nodes > maxNodes {
		return nil, c.errorf("the pattern has more than %d values", maxNodes)
	}
	if len(c.at) > maxDepth {
		return nil, c.errorf("the pattern is nested more than %d deep", maxDepth)
	}
	switch typed := raw.(type) {
	case map[string]any:
		return c.compileMap(typed, at)
	case []any:
		return c.compileList(typed)
	}
	s, ok := CompileScalar(raw)
	if !ok {
		return nil, c.errorf("a pattern cannot hold a value of type %T", raw)
	}
	return &node{shape: shapeScalar, scalar: s}, nil
}

func (c *compiler) compileMap(raw map[string]any, at place) (*node, error) {
	n, err := c.compileKeys(raw, at)
	if err != nil {
		return nil, err
	}
	isMetadata := func(e entry) bool { return e.name == "metadata" }
	if slices.ContainsFunc(n.fields, isMetadata) || slices.ContainsFunc(n.anchors, isMetadata) {
		n.expanded, err = c.compileExpanded(raw, at)
	}
	return n, err
}

func (c *compiler) compileKeys(raw map[string]any, at place) (*node, error) {
	n := &node{shape: shapeMap}
	keys := slices.Sorted(maps.Keys(raw))

	// Kyverno evaluates plain keys in sorted order, but first, and in reverse, those with anchors below them (and
	// global anchors). The order decides between fail and skip, so it is the same here.
	var first, rest []entry
	for _, key := range keys {
		e, err := c.compileEntry(key, raw[key], at)
		if err != nil {
			return nil, err
		}
		switch e.anchor {
		case anchorNone:
			if e.value.anchored {
				n.anchored = true
				first = append(first, e)
			} else {
				rest = append(rest, e)
			}
		case anchorGlobal:
			n.anchored = true
			first = append(first, e)
		default:
			n.anchored = true
			n.anchors = append(n.anchors, e)
		}
	}
	slices.Reverse(first)
	n.fields = append(first, rest...)
	return n, nil
}

func (c *compiler) compileEntry(key string, raw any, at place) (entry, error) {
	c.enter(key)
	defer c.leave()
	kind, name, problem := parseKey(key)
	if problem != "" {
		return entry{}, c.errorf("%s", problem)
	}
	e := entry{anchor: kind, name: name, raw: key, wild: at == placeLabels && HasWildcard(name)}
	e.anything = kind == anchorNone && raw == any("*")
	if kind == anchorExistence {
		list, ok := raw.([]any)
		if !ok || len(list) == 0 {
			return entry{}, c.errorf("the value of the existence anchor %s must be a list with at least one element", Quote(key))
		}
		for i, element := range list {
			c.enter(strconv.Itoa(i))
			item, err := c.compile(element, placeOther)
			c.leave()
			if err != nil {
				return entry{}, err
			}
			e.some = append(e.some, item)
		}
		return e, nil
	}
	value, err := c.compile(raw, at.child(name))
	if err != nil {
		return entry{}, err
	}
	e.value = value
	return e, nil
}

// compileList compiles all elements, to find errors in any of them. As in Kyverno, only the first element of a list of
// maps or scalars counts: it is the pattern for every element of the resource.
func (c *compiler) compileList(raw []any) (*node, error) {
	nodes := make([]*node, 0, len(raw))
	anchored := false
	for i, element := range raw {
		c.enter(strconv.Itoa(i))
		n, err := c.compile(element, placeOther)
		c.leave()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		anchored = anchored || n.anchored
	}
	if len(nodes) == 0 {
		return &node{shape: shapeEmptyList}, nil
	}
	switch raw[0].(type) {
	case map[string]any:
		return &node{shape: shapeListOfMaps, elements: nodes, anchored: anchored}, nil
	case []any:
		return &node{shape: shapeListOfLists, elements: nodes, anchored: anchored}, nil
	}
	return &node{shape: shapeScalar, scalar: nodes[0].scalar, list: true, anchored: anchored}, nil
}

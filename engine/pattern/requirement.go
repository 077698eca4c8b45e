package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/explain"
)

// Explain records what the pattern requires of each failing field of a resource, by the pointers of [Outcome.Fields].
func (p *Pattern) Explain(resource any, sheet *explain.Sheet) {
	r := newRecorder()
	r.sheet = sheet
	p.root.match(resource, r)
}

// requirement returns what a node requires of a value that is missing or has another type.
func (n *node) requirement() explain.Requirement {
	if n.shape == shapeScalar && !n.list {
		return n.scalar.requirement(nil)
	}
	value, example, ok := n.example(0)
	words := n.words()
	if !ok {
		return explain.Requirement{Words: words}
	}
	return explain.Requirement{Words: words, Changes: []explain.Change{{Value: value, Example: example}}}
}

// words describes what a node requires.
func (n *node) words() string {
	switch n.shape {
	case shapeScalar:
		if n.list {
			return "a list, each element " + n.scalar.words()
		}
		return n.scalar.words()
	case shapeMap:
		var parts []string
		for _, e := range slices.Concat(n.fields, n.anchors) {
			if w := e.words(); w != "" {
				parts = append(parts, w)
			}
		}
		if len(parts) == 0 {
			return "a mapping"
		}
		return strings.Join(parts, "; ")
	case shapeListOfMaps:
		return "a list, each element with " + n.elements[0].words()
	case shapeListOfLists:
		return fmt.Sprintf("a list of %d lists", len(n.elements))
	}
	return "no possible value: the pattern is an empty list, which nothing satisfies"
}

// words describes what a key of a map requires, "" if it is a condition.
func (e *entry) words() string {
	switch e.anchor {
	case anchorNegation:
		return "no " + e.name
	case anchorExistence:
		if len(e.some) == 0 {
			return ""
		}
		return e.name + ": a list that has an element with " + e.some[0].words()
	case anchorNone, anchorEquality:
	default:
		return ""
	}
	name := e.name
	if e.wild {
		name = "a key like " + name
	}
	w := e.value.words()
	if e.value.shape == shapeMap {
		w = "{" + w + "}"
	}
	if e.anchor == anchorEquality {
		return ""
	}
	return name + ": " + w
}

// example returns a value that fulfills the node, and whether other values do as well.
func (n *node) example(depth int) (value any, example, ok bool) {
	if depth > maxDepth {
		return nil, false, false
	}
	switch n.shape {
	case shapeScalar:
		edits := n.scalar.changes(nil)
		if len(edits) == 0 || edits[0].Remove {
			return nil, false, false
		}
		if n.list {
			return []any{edits[0].Value}, true, true
		}
		return edits[0].Value, edits[0].Example, true
	case shapeMap:
		return n.exampleMap(depth)
	case shapeListOfMaps:
		value, _, ok = n.elements[0].example(depth + 1)
		return []any{value}, true, ok
	}
	return nil, false, false
}

func (n *node) exampleMap(depth int) (value any, example, ok bool) {
	out, optional := map[string]any{}, map[string]any{}
	for _, e := range slices.Concat(n.fields, n.anchors) {
		switch {
		case e.anchor == anchorNegation || e.anchor == anchorEquality:
			continue
		case e.wild:
			return nil, false, false
		case e.anchor == anchorExistence:
			var list []any
			for _, item := range e.some {
				v, _, ok := item.example(depth + 1)
				if !ok {
					return nil, false, false
				}
				list = append(list, v)
			}
			out[e.name], example = list, true
			continue
		case e.value.shape == shapeScalar && e.value.scalar.takesNothing():
			if v, _, ok := e.value.example(depth + 1); ok {
				optional[e.name] = v
			}
			continue
		}
		v, ex, ok := e.value.example(depth + 1)
		if !ok {
			return nil, false, false
		}
		out[e.name], example = v, example || ex
	}
	if len(out) == 0 && len(optional) > 0 { // the API server takes an empty map for none
		return optional, true, true
	}
	return out, example, true
}

func (s *Scalar) takesNothing() bool { return s.Matches(nil) }

// oneMore returns the requirement of a list that lacks an element.
func (n *node) oneMore(length int) explain.Requirement {
	h := explain.Requirement{Words: "a list that has an element with " + n.words()}
	if value, _, ok := n.example(0); ok {
		h.Changes = []explain.Change{{Below: "/" + strconv.Itoa(length), Value: value, Example: true}}
	}
	return h
}

func absent() explain.Requirement {
	return explain.Requirement{Words: "nothing: the field must not be set", Changes: []explain.Change{{Remove: true}}}
}

func anyValue() explain.Requirement {
	return explain.Requirement{Words: "any value", Changes: []explain.Change{{Value: explain.Placeholder, Example: true}}}
}

// someKey returns the requirement of a map that lacks a key that matches wildcards.
func (e *entry) someKey() explain.Requirement {
	if e.anything {
		return explain.Requirement{Words: "a key like " + e.name}
	}
	return explain.Requirement{Words: "a key like " + e.name + " with " + e.value.words()}
}

// requirement returns what a leaf requires of a value.
func (s *Scalar) requirement(have any) explain.Requirement {
	h := explain.Requirement{Words: s.words(), Changes: s.changes(have)}
	if text, ok := have.(string); ok {
		h.Of, h.Part = text, s.wrong(text)
	}
	return h
}

// wrong returns the part of a text that keeps a leaf from matching it.
func (s *Scalar) wrong(text string) explain.Span {
	var parts []explain.Span
	for _, terms := range s.alternatives {
		for i := range terms {
			switch t := &terms[i]; {
			case t.match(text):
				continue
			case t.op == equal:
				parts = append(parts, explain.Against(text, t.operand))
			case t.op == notEqual:
				parts = append(parts, explain.Like(text, t.operand))
			}
			break
		}
	}
	return explain.Furthest(parts...)
}

func (s *Scalar) changes(have any) []explain.Change {
	switch raw := s.raw.(type) {
	case nil:
		return []explain.Change{{Remove: true}}
	case bool, int64, float64:
		return []explain.Change{{Value: raw}}
	}
	var out []explain.Change
	for _, terms := range s.alternatives {
		for i := range terms {
			out = append(out, terms[i].changes(have)...)
		}
	}
	if len(s.alternatives) > 1 {
		for i := range out {
			out[i].Example = true
		}
	}
	return out
}

func (t *term) changes(have any) []explain.Change {
	switch {
	case t.op == equal && (t.operand == "*" || t.operand == "?*"):
		return []explain.Change{{Value: explain.Placeholder, Example: true}}
	case t.op == equal && t.operand == "":
		return []explain.Change{{Value: ""}}
	case t.op == equal && !t.wild:
		return []explain.Change{{Value: typed(t.operand, have)}}
	case t.op == moreEqual || t.op == lessEqual:
		return []explain.Change{{Value: typed(t.operand, have), Example: true}}
	case t.op == within:
		return append(t.ends[0].changes(have), t.ends[1].changes(have)...)
	case t.op == more || t.op == less:
		n, err := strconv.ParseInt(t.operand, 10, 64)
		if err != nil {
			return nil
		}
		if n++; t.op == less {
			n -= 2
		}
		return []explain.Change{{Value: typed(strconv.FormatInt(n, 10), have), Example: true}}
	case t.op == notEqual && (t.operand == "true" || t.operand == "false"):
		return []explain.Change{{Value: typed(strconv.FormatBool(t.operand == "false"), have)}}
	}
	return nil
}

// typed converts the text of a pattern to the type that the field most likely has: that of its value, or the type that
// the text looks like.
func typed(text string, have any) any {
	if _, isText := have.(string); isText {
		return text
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

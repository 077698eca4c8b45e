package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/hint"
)

// Explain writes down what the pattern asks of each field of a resource that fails it, by the pointers of
// [Outcome.Fields].
func (p *Pattern) Explain(resource any, sheet *hint.Sheet) {
	r := newRecorder()
	r.sheet = sheet
	p.root.match(resource, r)
}

// hint is what a node asks of a value that has another shape, or is not there.
func (n *node) hint() hint.Hint {
	if n.shape == shapeScalar && !n.list {
		return n.scalar.hint(nil, false)
	}
	value, example, ok := n.example(0)
	words := n.words()
	if !ok {
		return hint.Hint{Words: words}
	}
	return hint.Hint{Words: words, Edits: []hint.Edit{{Value: value, Example: example}}}
}

// words is what a node asks for.
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
	return "something that no list is: the pattern is an empty list, which nothing satisfies"
}

// words is what a key of a map asks for, "" where it is a condition.
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

// example is a value that the node takes; example is whether others do as well.
func (n *node) example(depth int) (value any, example, ok bool) {
	if depth > maxDepth {
		return nil, false, false
	}
	switch n.shape {
	case shapeScalar:
		edits := n.scalar.edits(nil, false)
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
	out := map[string]any{}
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
			continue
		}
		v, ex, ok := e.value.example(depth + 1)
		if !ok {
			return nil, false, false
		}
		out[e.name], example = v, example || ex
	}
	return out, example, true
}

func (s *Scalar) takesNothing() bool { return s.Matches(nil) }

// oneMore is the hint of a list that lacks an element.
func (n *node) oneMore(length int) hint.Hint {
	h := hint.Hint{Words: "a list that has an element with " + n.words()}
	if value, _, ok := n.example(0); ok {
		h.Edits = []hint.Edit{{Below: "/" + strconv.Itoa(length), Value: value, Example: true}}
	}
	return h
}

func absent() hint.Hint {
	return hint.Hint{Words: "nothing: the field must not be set", Edits: []hint.Edit{{Remove: true}}}
}

func anyValue() hint.Hint {
	return hint.Hint{Words: "any value", Edits: []hint.Edit{{Value: hint.Placeholder, Example: true}}}
}

// someKey is the hint of a map that lacks a key that wildcards describe.
func (e *entry) someKey() hint.Hint {
	if e.anything {
		return hint.Hint{Words: "a key like " + e.name}
	}
	return hint.Hint{Words: "a key like " + e.name + " with " + e.value.words()}
}

// stringly reports whether the value here is one of labels or annotations, which are always strings.
func (r *recorder) stringly() bool {
	at := string(r.pointer)
	i := strings.LastIndexByte(at, '/')
	return i > 0 && (strings.HasSuffix(at[:i], "/labels") || strings.HasSuffix(at[:i], "/annotations") ||
		strings.HasSuffix(at[:i], "/matchLabels"))
}

// hint is what a leaf asks of a value; stringly values are strings whatever they look like.
func (s *Scalar) hint(have any, stringly bool) hint.Hint {
	h := hint.Hint{Words: s.words(), Edits: s.edits(have, stringly)}
	if text, ok := have.(string); ok {
		h.Of, h.Part = text, s.wrong(text)
	}
	return h
}

// wrong is the part of a text that keeps a leaf from matching it.
func (s *Scalar) wrong(text string) hint.Part {
	var parts []hint.Part
	for _, terms := range s.alternatives {
		for i := range terms {
			switch t := &terms[i]; {
			case t.match(text):
				continue
			case t.op == equal:
				parts = append(parts, hint.Against(text, t.operand))
			case t.op == notEqual:
				parts = append(parts, hint.Like(text, t.operand))
			}
			break
		}
	}
	return hint.Furthest(parts...)
}

func (s *Scalar) edits(have any, stringly bool) []hint.Edit {
	switch raw := s.raw.(type) {
	case nil:
		return []hint.Edit{{Remove: true}}
	case bool, int64, float64:
		if stringly {
			return []hint.Edit{{Value: fmt.Sprint(raw)}}
		}
		return []hint.Edit{{Value: raw}}
	}
	var out []hint.Edit
	for _, terms := range s.alternatives {
		for i := range terms {
			out = append(out, terms[i].edits(have, stringly)...)
		}
	}
	if len(s.alternatives) > 1 {
		for i := range out {
			out[i].Example = true
		}
	}
	return out
}

func (t *term) edits(have any, stringly bool) []hint.Edit {
	switch {
	case t.op == equal && (t.operand == "*" || t.operand == "?*"):
		return []hint.Edit{{Value: hint.Placeholder, Example: true}}
	case t.op == equal && t.operand == "":
		return []hint.Edit{{Value: ""}}
	case t.op == equal && !t.wild:
		return []hint.Edit{{Value: typed(t.operand, have, stringly)}}
	case t.op == moreEqual || t.op == lessEqual:
		return []hint.Edit{{Value: typed(t.operand, have, stringly), Example: true}}
	case t.op == within:
		return append(t.ends[0].edits(have, stringly), t.ends[1].edits(have, stringly)...)
	case t.op == more || t.op == less:
		n, err := strconv.ParseInt(t.operand, 10, 64)
		if err != nil {
			return nil
		}
		if n++; t.op == less {
			n -= 2
		}
		return []hint.Edit{{Value: typed(strconv.FormatInt(n, 10), have, stringly), Example: true}}
	case t.op == notEqual && (t.operand == "true" || t.operand == "false"):
		return []hint.Edit{{Value: typed(strconv.FormatBool(t.operand == "false"), have, stringly)}}
	}
	return nil
}

// typed gives the text of a pattern the type that the field most likely has: that of its value, or what the text
// looks like.
func typed(text string, have any, stringly bool) any {
	if _, isText := have.(string); isText || stringly {
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

package jmespath

import (
	"context"
	"maps"
	"slices"
)

// machine is one evaluation: what it knows, and what it may still spend.
type machine struct {
	ctx   context.Context
	env   Env
	steps int
	bytes int
	draws uint64 // calls of random so far
}

// tick counts one step, and now and then asks whether the evaluation is still wanted.
func (m *machine) tick() error {
	m.steps++
	if m.steps > maxSteps {
		return &LimitError{What: "steps", Limit: maxSteps}
	}
	if m.steps&1023 == 0 {
		return m.ctx.Err()
	}
	return nil
}

// grow counts bytes of output before they are made.
func (m *machine) grow(n int) error {
	if n < 0 || n > maxBytes-m.bytes {
		return &LimitError{What: "bytes", Limit: maxBytes}
	}
	m.bytes += n
	return nil
}

// maxResultDepth bounds the nesting of a result.
const maxResultDepth = 10_000

// measure walks a result and fails where it is too large to be used.
func (m *machine) measure(v any, depth int) error {
	if err := m.tick(); err != nil {
		return err
	}
	if depth > maxResultDepth {
		return &LimitError{What: "levels", Limit: maxResultDepth}
	}
	switch v := v.(type) {
	case string:
		return m.grow(len(v))
	case []any:
		for _, item := range v {
			if err := m.measure(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, item := range v {
			if err := m.grow(len(k)); err != nil {
				return err
			}
			if err := m.measure(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// evalSoft evaluates and takes a missing key as null.
func (m *machine) evalSoft(n *node, v any) (any, error) {
	result, err := m.eval(n, v)
	if err != nil && missing(err) {
		return nil, nil
	}
	return result, err
}

// evalList evaluates the left side of a flatten, filter or value projection. There Kyverno takes any
// error as null; those that say the answer is not known stay errors.
func (m *machine) evalList(n *node, v any) (any, error) {
	result, err := m.eval(n, v)
	if err != nil && !fatal(err) {
		return nil, nil
	}
	return result, err
}

func (m *machine) eval(n *node, v any) (any, error) {
	if err := m.tick(); err != nil {
		return nil, err
	}
	switch n.op {
	case opCurrent:
		return v, nil
	case opLiteral:
		return n.value, nil
	case opField:
		if o, ok := v.(map[string]any); ok {
			if field, ok := o[n.name]; ok {
				return field, nil
			}
			if m.env.Absent != nil {
				if err := m.env.Absent(o, n.name); err != nil {
					return nil, err
				}
			}
			if n.absent == nil {
				return nil, nil
			}
			return nil, n.absent
		}
		return nil, nil // a field of null or of a scalar is null, not an error
	case opSub:
		left, err := m.eval(n.kids[0], v)
		if err != nil {
			return nil, err
		}
		return m.eval(n.kids[1], left)
	case opPipe:
		left, err := m.evalSoft(n.kids[0], v)
		if err != nil {
			return nil, err
		}
		return m.evalSoft(n.kids[1], left)
	case opIndex:
		list, _ := v.([]any)
		return at(list, n.index), nil
	case opSlice:
		return m.cut(n, v)
	case opOr:
		left, err := m.evalSoft(n.kids[0], v)
		if err != nil || !falsy(left) {
			return left, err
		}
		return m.evalSoft(n.kids[1], v)
	case opAnd:
		left, err := m.evalSoft(n.kids[0], v)
		if err != nil || falsy(left) {
			return left, err
		}
		return m.eval(n.kids[1], v)
	case opNot:
		operand, err := m.evalSoft(n.kids[0], v)
		return falsy(operand), err
	case opList:
		return m.selectList(n, v)
	case opHash:
		return m.selectHash(n, v)
	case opCall:
		return m.call(n, v)
	case opVariable:
		if value, ok := m.env.Bindings[n.name]; ok {
			return value, nil
		}
		return nil, &FunctionError{Function: "$" + n.name, Message: "the variable is not defined"}
	case opArithmetic:
		return m.arithmetic(n, v)
	case opExpref:
		return reference{n.kids[0]}, nil
	case opFlatten, opProject, opFilter, opValues:
		return m.project(n, v)
	default:
		return m.compare(n, v)
	}
}

// at is the element of a list; a negative index counts from the end, one out of range gives null.
func at(list []any, index int) any {
	if index < 0 {
		index += len(list)
	}
	if index < 0 || index >= len(list) {
		return nil
	}
	return list[index]
}

func (m *machine) compare(n *node, v any) (any, error) {
	left, err := m.evalSoft(n.kids[0], v)
	if err != nil {
		return nil, err
	}
	right, err := m.evalSoft(n.kids[1], v)
	if err != nil {
		return nil, err
	}
	if n.op == opEqual || n.op == opUnlike {
		same, err := m.equal(left, right)
		return same == (n.op == opEqual), err
	}
	a, ok := asNumber(left)
	b, ok2 := asNumber(right)
	if !ok || !ok2 {
		return nil, nil // only numbers have an order
	}
	c := compareNumbers(a, b)
	switch n.op {
	case opLess:
		return c < 0, nil
	case opLessEqual:
		return c <= 0, nil
	case opGreater:
		return c > 0, nil
	}
	return c >= 0, nil
}

func (m *machine) selectList(n *node, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if err := m.grow(16 * len(n.kids)); err != nil {
		return nil, err
	}
	return m.evalEach(n.kids, v)
}

// evalEach returns the values of several nodes. The list is nil where one of them fails.
func (m *machine) evalEach(nodes []*node, v any) ([]any, error) {
	out := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = m.evalSoft(n, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *machine) selectHash(n *node, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if err := m.grow(32 * len(n.kids)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(n.kids))
	for i, kid := range n.kids {
		item, err := m.evalSoft(kid, v)
		if err != nil {
			return nil, err
		}
		out[n.keys[i]] = item
	}
	return out, nil
}

func (m *machine) cut(n *node, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, nil
	}
	indexes := sliceIndexes(n.slice, len(list))
	if err := m.grow(16 * len(indexes)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(indexes))
	for _, i := range indexes {
		out = append(out, list[i])
	}
	return out, nil
}

// sliceIndexes are the elements that [start:stop:step] takes of a list of the given length
// (https://jmespath.org/specification.html#slices).
func sliceIndexes(bounds [3]*int, length int) []int {
	step := 1
	if bounds[2] != nil {
		step = *bounds[2]
	}
	low, high := 0, length
	if step < 0 {
		low, high = -1, length-1
	}
	bound := func(p *int, fallback int) int {
		if p == nil {
			return fallback
		}
		i := *p
		if i < 0 {
			i += length
		}
		return min(max(i, low), high)
	}
	start, stop := bound(bounds[0], low), bound(bounds[1], high)
	if step < 0 {
		start, stop = bound(bounds[0], high), bound(bounds[1], low)
	}
	var out []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, i)
		if step >= length || step <= -length { // also keeps i from overflowing
			break
		}
	}
	return out
}

// project evaluates the four forms that make a list of a list or object.
func (m *machine) project(n *node, v any) (any, error) {
	var left any
	var err error
	if n.op == opProject {
		left, err = m.evalSoft(n.kids[0], v)
	} else {
		left, err = m.evalList(n.kids[0], v)
	}
	if err != nil {
		return nil, err
	}
	list, ok := left.([]any)
	if n.op == opValues {
		list, ok = valuesOf(left)
	}
	if !ok {
		return nil, nil
	}
	if n.op == opFlatten {
		return m.flatten(list)
	}
	out := make([]any, 0, len(list))
	for _, item := range list {
		if n.op == opFilter {
			verdict, err := m.evalSoft(n.kids[2], item)
			if err != nil {
				return nil, err
			}
			if falsy(verdict) {
				continue
			}
		}
		result, err := m.evalSoft(n.kids[1], item)
		if err != nil {
			return nil, err
		}
		if result == nil { // is dropped
			continue
		}
		if err := m.grow(16); err != nil {
			return nil, err
		}
		out = append(out, result)
	}
	return out, nil
}

func (m *machine) flatten(list []any) (any, error) {
	out := make([]any, 0, len(list))
	for _, item := range list {
		inner, ok := item.([]any)
		if !ok {
			inner = []any{item}
		}
		if err := m.grow(16 * len(inner)); err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// valuesOf are the values of an object in the order of its keys, so that equal input gives equal output.
func valuesOf(v any) ([]any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make([]any, 0, len(object))
	for _, key := range sortedKeys(object) {
		out = append(out, object[key])
	}
	return out, true
}

func sortedKeys[V any](o map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(o)), maps.Keys(o))
	slices.Sort(keys)
	return keys
}

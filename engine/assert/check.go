package assert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Failure is one assertion that does not hold.
type Failure struct {
	Message     string              // with the path of the assertion, in the form of the API server's field errors
	Fields      []string            // RFC 6901 pointers into the payload of what is asserted about, or was read for it
	Requirement explain.Requirement // what the tree asks of them
}

// Check evaluates the tree on a payload, which stays as it is. The bindings of env are those of the rule. An
// error means that the tree cannot be applied to the payload; it holds what the evaluation of an expression gave.
func (t *Tree) Check(ctx context.Context, payload any, env jmespath.Env) ([]Failure, error) {
	c := &checker{ctx: ctx, env: env, left: maxElements}
	err := t.root.check(c, nil, value{data: payload, fields: []string{""}, exact: true}, env.Bindings, 0)
	if err != nil {
		return nil, err
	}
	return c.failures, nil
}

type bindings = map[string]any

// path is that of an assertion, nil at the root.
type path = *field.Path

// value is what assertions are about. fields are where it comes from: exactly there, or computed from them.
type value struct {
	data   any
	fields []string
	exact  bool
}

func (v value) child(token string, data any) value {
	if !v.exact {
		return value{data: data, fields: v.fields}
	}
	return value{data: data, fields: []string{v.fields[0] + "/" + jsonpointer.Escape(token)}, exact: true}
}

// checker is one evaluation.
type checker struct {
	ctx      context.Context
	env      jmespath.Env
	left     int
	failures []Failure
}

func (c *checker) fail(e *field.Error, v value, h explain.Requirement) {
	c.failures = append(c.failures, Failure{Message: e.Error(), Fields: v.fields, Requirement: h})
}

func (c *checker) search(e *jmespath.Expression, data any, b bindings) (any, error) {
	env := c.env
	env.Bindings = b
	return e.Search(c.ctx, data, env)
}

// broken is an error at a path.
type brokenError struct {
	path path
	err  error
}

func (e *brokenError) Error() string { return field.InternalError(e.path, e.err).Error() }
func (e *brokenError) Unwrap() error { return e.err }

func (m mapping) check(c *checker, at path, v value, b bindings, depth int) error {
	if len(m) == 0 {
		if v.data == nil {
			c.fail(field.Invalid(at, nil, "invalid value, must not be null"), v, absent(nil))
		}
		return nil
	}
	for _, e := range m {
		if err := c.entry(e, at.Child(e.key), v, b, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) entry(e entry, at path, v value, b bindings, depth int) error {
	next, found, err := c.project(e.projection, v, b)
	switch {
	case err != nil:
		return &brokenError{at, err}
	case !found:
		c.fail(field.Required(at, "field not found in the input object"), next, absent(e.below))
		return nil
	}
	if e.binds != "" {
		b = with(b, e.binds, next.data)
	}
	if !e.each {
		return e.below.check(c, at, next, b, depth+1)
	}
	switch data := next.data.(type) {
	case []any:
		for i, item := range data {
			if err := c.element(e, at.Index(i), next.child(strconv.Itoa(i), item), b, int64(i), depth); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(data) {
			if err := c.element(e, at.Key(k), next.child(k, data[k]), b, k, depth); err != nil {
				return err
			}
		}
	default:
		return field.TypeInvalid(at, next.data, "expected a slice or a map")
	}
	return nil
}

func (c *checker) element(e entry, at path, v value, b bindings, index any, depth int) error {
	if c.left--; c.left < 0 {
		return fmt.Errorf("the assertions iterate over more than %d elements", maxElements)
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if e.index != "" {
		b = with(b, e.index, index)
	}
	return e.below.check(c, at, v, b, depth+1)
}

// with binds a name for what is below.
func with(b bindings, name string, data any) bindings {
	out := maps.Clone(b)
	if out == nil {
		out = bindings{}
	}
	out[name] = data
	return out
}

// project is the value that a key gives. Where a field is not there, it says where it would be.
func (c *checker) project(p projection, v value, b bindings) (value, bool, error) {
	if p.expr != nil {
		data, err := c.search(p.expr, v.data, b)
		if err != nil {
			return value{}, false, err
		}
		return computed(p.expr, v, data), true, nil
	}
	switch object := v.data.(type) {
	case map[string]any:
		data, ok := object[p.name]
		return v.child(p.name, data), ok, nil
	case nil:
		return v.child(p.name, nil), false, nil
	}
	return value{}, false, errors.New("projection not recognized")
}

// computed finds where the value of an expression comes from.
func computed(e *jmespath.Expression, v value, data any) value {
	if !v.exact {
		return value{data: data, fields: v.fields}
	}
	reads := e.Reads(v.data)
	if len(reads) == 0 {
		return value{data: data, fields: v.fields}
	}
	if len(reads) == 1 && reflect.DeepEqual(jsonpointer.At(v.data, reads[0]), data) && data != nil {
		return value{data: data, fields: []string{v.fields[0] + reads[0]}, exact: true}
	}
	out := make([]string, len(reads))
	for i, r := range reads {
		out[i] = v.fields[0] + r
	}
	return value{data: data, fields: out}
}

func (l list) check(c *checker, at path, v value, b bindings, depth int) error {
	if v.data == nil {
		c.fail(field.Invalid(at, nil, "value is null"), v, l.unlike())
		return nil
	}
	items, ok := v.data.([]any)
	if !ok {
		return field.TypeInvalid(at, v.data, "expected a slice")
	}
	if len(items) != len(l) {
		c.fail(field.Invalid(at, v.data, "lengths of slices don't match"), v, l.unlike())
		return nil
	}
	for i, n := range l {
		if err := n.check(c, at.Index(i), v.child(strconv.Itoa(i), items[i]), b, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (l leaf) check(c *checker, at path, v value, b bindings, _ int) error {
	want := l.value
	if l.expr != nil {
		var err error
		if want, err = c.search(l.expr, v.data, b); err != nil {
			return &brokenError{at, err}
		}
	}
	same, err := equal(want, v.data)
	switch {
	case err != nil:
		return &brokenError{at, err}
	case !same:
		c.fail(field.Invalid(at, v.data, requirementOf(want)), v, asks(at, v, want))
	}
	return nil
}

func requirementOf(want any) string {
	switch w := want.(type) {
	case int64, float64, bool:
		return fmt.Sprintf("Expected value: %v", w)
	case string:
		return fmt.Sprintf("Expected value: %q", w)
	}
	return fmt.Sprintf("Expected value: %#v", want)
}

// equal compares: of mappings only the keys that are expected, all else as a whole. Values of different types
// cannot be compared.
func equal(want, have any) (bool, error) {
	switch w := want.(type) {
	case []any:
		h, ok := have.([]any)
		if !ok {
			return false, fmt.Errorf("invalid actual value, must be a slice, found %s", kind(have))
		}
		if len(w) != len(h) {
			return false, nil
		}
		for i := range w {
			if same, err := equal(w[i], h[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return false, fmt.Errorf("invalid actual value, must be a map, found %s", kind(have))
		}
		for _, k := range sortedKeys(w) {
			v, ok := h[k]
			if !ok {
				return false, nil
			}
			if same, err := equal(w[k], v); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	if want == nil || have == nil {
		return want == nil && have == nil, nil
	}
	if a, ok := jmespath.Number(want); ok {
		if b, ok := jmespath.Number(have); ok {
			return a == b, nil
		}
	}
	if kind(want) != kind(have) {
		return false, fmt.Errorf("types are not comparable, %s - %s", kind(want), kind(have))
	}
	return want == have, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "invalid"
	case []any:
		return "slice"
	case map[string]any:
		return "map"
	}
	return reflect.TypeOf(v).Kind().String()
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

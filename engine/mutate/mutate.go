// Package mutate applies the mutate rules of kyverno.io policies to objects: strategic merge patches with anchors, JSON
// patches, and both for each element of a list (https://kyverno.io/docs/policy-types/cluster-policy/mutate/).
package mutate

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Limits: how deep foreach may nest, and how many elements one mutation goes through.
const (
	maxNesting  = 5
	maxElements = 10_000
)

// Loader adds the context entries of a foreach to a scope.
type Loader func(*variable.Scope)

// ContextCompiler compiles the list of context entries at pointer of document.
type ContextCompiler func(document any, pointer string) (Loader, error)

// Mutation is a compiled mutate block, or the part of an entry of foreach that is one: a patch, then entries of foreach. It is
// immutable and safe for concurrent use.
type Mutation struct {
	patch *patch
	each  []*loop
}

// patch is one patchStrategicMerge or patchesJson6902.
type patch struct {
	merge *variable.Tree
	json  *variable.Tree
}

// loop is one entry of foreach.
type loop struct {
	Mutation
	list          *jmespath.Expression
	load          Loader
	preconditions *condition.Set
	descending    bool
}

// Compile compiles the mutate block at pointer of document, which is the rule or the policy as JSON. Context
// entries of foreach are compiled by contexts; nil refuses them. Errors are of type *jsonpointer.Error, or what
// contexts returns. A block with nothing but targets, which changes objects that exist already, compiles to a
// mutation that changes nothing.
func Compile(document any, pointer string, contexts ContextCompiler) (*Mutation, error) {
	block, ok := jsonpointer.At(document, pointer).(map[string]any)
	if !ok {
		return nil, jsonpointer.Errorf(pointer, "must be an object")
	}
	c := &compiler{document, contexts}
	out, err := c.mutation(block, pointer, "a mutate block", 1)
	if err != nil {
		return nil, err
	}
	if block["targets"] != nil {
		return &Mutation{}, nil
	}
	return &out, nil
}

// ForEach reports whether the mutation goes over elements.
func (m *Mutation) ForEach() bool { return len(m.each) > 0 }

type compiler struct {
	document any
	contexts ContextCompiler
}

// mutation compiles a patch and the entries of foreach, one of which there has to be. what names the block in messages, and depth
// says how deep its foreach nests.
func (c *compiler) mutation(block map[string]any, pointer, what string, depth int) (out Mutation, err error) {
	if out.patch, err = c.patch(block, pointer); err != nil {
		return out, err
	}
	if out.each, err = c.loops(block, pointer, depth); err == nil && out.patch == nil && len(out.each) == 0 {
		err = jsonpointer.Errorf(pointer, "%s needs patchStrategicMerge, patchesJson6902 or foreach", what)
	}
	return out, err
}

func (c *compiler) patch(block map[string]any, pointer string) (*patch, error) {
	merge, hasMerge := block["patchStrategicMerge"]
	ops, hasJSON := block["patchesJson6902"]
	hasMerge, hasJSON = hasMerge && merge != nil, hasJSON && ops != nil && ops != ""
	switch {
	case hasMerge && hasJSON:
		return nil, jsonpointer.Errorf(pointer, "patchStrategicMerge and patchesJson6902 cannot be in one block")
	case hasMerge:
		if _, ok := merge.(map[string]any); !ok {
			return nil, jsonpointer.Errorf(pointer+"/patchStrategicMerge", "must be an object")
		}
		tree, err := variable.Parse(c.document, pointer+"/patchStrategicMerge")
		return &patch{merge: tree}, err
	case hasJSON:
		tree, err := variable.Parse(c.document, pointer+"/patchesJson6902")
		if err != nil {
			return nil, err
		}
		if v, ok := tree.Constant(); ok {
			if _, err := operations(v); err != nil {
				return nil, jsonpointer.Errorf(pointer+"/patchesJson6902", "%s", err)
			}
		}
		return &patch{json: tree}, nil
	}
	return nil, nil
}

func (c *compiler) loops(block map[string]any, pointer string, depth int) ([]*loop, error) {
	raw, ok := block["foreach"]
	if !ok || raw == nil {
		return nil, nil
	}
	pointer += "/foreach"
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return nil, jsonpointer.Errorf(pointer, "must be a list with an entry")
	}
	if depth > maxNesting {
		return nil, jsonpointer.Errorf(pointer, "foreach nests more than %d levels deep", maxNesting)
	}
	var out []*loop
	for i, item := range list {
		at := pointer + "/" + strconv.Itoa(i)
		entry, ok := item.(map[string]any)
		if !ok {
			return nil, jsonpointer.Errorf(at, "must be an object")
		}
		l, err := c.loop(entry, at, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func (c *compiler) loop(entry map[string]any, at string, depth int) (*loop, error) {
	out := &loop{}
	source, _ := entry["list"].(string)
	var err error
	if out.list, err = jmespath.Compile(source); err != nil {
		return nil, jsonpointer.Errorf(at+"/list", "%s", err)
	}
	if out.Mutation, err = c.mutation(entry, at, "an entry of foreach", depth+1); err != nil {
		return nil, err
	}
	if entry["context"] != nil {
		if c.contexts == nil {
			return nil, jsonpointer.Errorf(at+"/context", "context entries cannot be used here")
		}
		if out.load, err = c.contexts(c.document, at+"/context"); err != nil {
			return nil, err
		}
	}
	if entry["preconditions"] != nil {
		if out.preconditions, err = condition.Compile(c.document, at+"/preconditions"); err != nil {
			return nil, err
		}
	}
	// A merge puts new elements before the old ones, so the last element is handled first unless the foreach sets an
	// order.
	out.descending = out.patch != nil && out.patch.merge != nil
	if order, ok := entry["order"].(string); ok {
		out.descending = order == "Descending"
	}
	return out, nil
}

// Apply returns the patched object and the RFC 6901 pointers into it of the written values, sorted. If no patch
// applies, it returns the object unchanged. The input is never changed; the result shares unchanged parts with it.
// Errors of variables and conditions are passed on: errors.As finds a look-up that needs the cluster.
func (m *Mutation) Apply(s *variable.Scope, object admission.Object) (admission.Object, []string, error) {
	out, err := (&runner{left: maxElements}).run(s, m, object, 0)
	if err != nil {
		return object, nil, err
	}
	written := changes(object, out)
	if len(written) == 0 {
		return object, nil, nil
	}
	return out, written, nil
}

func (p *patch) apply(s *variable.Scope, object admission.Object) (admission.Object, error) {
	tree := cmp.Or(p.merge, p.json)
	v, err := tree.Resolve(s)
	if err != nil {
		return object, err
	}
	if p.merge != nil {
		return overlay(v, object)
	}
	ops, err := operations(v)
	if err != nil {
		return object, err
	}
	return ops.apply(object)
}

// runner counts the elements that one mutation has handled.
type runner struct{ left int }

func (r *runner) run(s *variable.Scope, m *Mutation, object admission.Object, depth int) (_ admission.Object, err error) {
	if m.patch != nil {
		if object, err = m.patch.apply(s, object); err != nil {
			return object, err
		}
	}
	for _, l := range m.each {
		if object, err = r.loop(s, l, object, depth); err != nil {
			return object, err
		}
	}
	return object, nil
}

func (r *runner) loop(s *variable.Scope, l *loop, object admission.Object, depth int) (admission.Object, error) {
	v, err := s.Query(l.list)
	if err != nil { // also where there is no list, unlike validation (pkg/engine/handlers/mutation/common.go of Kyverno)
		return object, err
	}
	var elements []any
	switch c := v.(type) {
	case nil:
	case []any:
		elements = c
	default:
		elements = []any{c}
	}
	for i := range elements {
		if l.descending {
			i = len(elements) - 1 - i
		}
		if elements[i] == nil {
			continue
		}
		if r.left--; r.left < 0 {
			return object, fmt.Errorf("foreach goes through more than %d elements", maxElements)
		}
		if err := s.Context().Err(); err != nil {
			return object, err
		}
		if object, err = r.element(s, l, object, elements[i], i, depth); err != nil {
			return object, err
		}
	}
	return object, nil
}

func (r *runner) element(parent *variable.Scope, l *loop, object admission.Object, element any,
	index, depth int) (admission.Object, error) {
	s := parent.Child()
	s.Set("element", element)
	s.Set("elementIndex", int64(index))
	s.Set("element"+strconv.Itoa(depth), element)
	s.Set("elementIndex"+strconv.Itoa(depth), int64(index))
	if l.load != nil {
		l.load(s)
	}
	if l.preconditions != nil {
		met, _, err := l.preconditions.Holds(s)
		if err != nil || !met {
			return object, err
		}
	}
	return r.run(s, &l.Mutation, object, depth+1)
}

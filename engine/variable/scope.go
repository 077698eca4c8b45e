// Package variable resolves the variables of policies: {{ expressions }} and $( references ) in trees of
// JSON, against the variables of one evaluation (https://kyverno.io/docs/policy-types/cluster-policy/variables/).
package variable

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Scope has the variables for one evaluation of a rule: those of the request, and the context entries and loop
// variables defined so far. It is cheap to create. A scope and its children must not be used concurrently.
type Scope struct {
	shared *shared
	top    *frame
	view   map[string]any // variables that queries already looked up
}

// shared is what a scope and its children have in common.
type shared struct {
	ctx      context.Context
	env      jmespath.Env
	cluster  admission.Cluster
	root     map[string]any
	deleting bool
	compiled map[string]*jmespath.Expression // expressions whose text was made by other variables
}

// frame is one definition. Definitions form a list, the newest first: a child shares the list of its
// parent and adds to its own head, and a loader sees exactly what was defined before it.
type frame struct {
	parent *frame
	name   string   // up to the first dot
	path   []string // the rest of a dotted name
	load   func(*Scope) (any, error)
	value  any
	err    error
	done   bool
}

// NewScope creates a scope with the variables in root: {"request": {...}, "serviceAccountName": ..., "images": ...}.
// Nothing in root is ever changed. Loaders look up declared objects in cluster, which may be nil.
func NewScope(ctx context.Context, root map[string]any, env jmespath.Env, cluster admission.Cluster) *Scope {
	s := &shared{ctx: ctx, env: env, cluster: cluster, root: root}
	if request, ok := root["request"].(map[string]any); ok {
		s.deleting = request["operation"] != nil && fmt.Sprint(request["operation"]) == "DELETE"
	}
	return &Scope{shared: s}
}

// Context returns the context of the evaluation.
func (s *Scope) Context() context.Context { return s.shared.ctx }

// Env returns what functions in expressions can use.
func (s *Scope) Env() jmespath.Env { return s.shared.env }

// Cluster returns the declared objects, nil if there are none.
func (s *Scope) Cluster() admission.Cluster { return s.shared.cluster }

// Child creates a scope that has the current variables of s. Definitions in the child do not affect s, but a variable
// of s that the child loads is then loaded in s, too.
func (s *Scope) Child() *Scope { return &Scope{shared: s.shared, top: s.top} }

// Set defines a variable. A dotted name ("a.b") sets a field of an object and keeps its other fields; the object itself
// is not changed. The value is not copied and must not be changed afterwards.
func (s *Scope) Set(name string, value any) {
	root, path := splitName(name)
	s.push(&frame{name: root, path: path, value: value, done: len(path) == 0})
}

// Lazy defines a variable that is loaded once, when it is first used; an error is cached, too. A later definition of
// the name hides it. load gets a scope with what was defined before.
func (s *Scope) Lazy(name string, load func(*Scope) (any, error)) {
	root, path := splitName(name)
	s.push(&frame{name: root, path: path, load: load})
}

func (s *Scope) push(f *frame) {
	f.parent = s.top
	s.top = f
	delete(s.view, f.name)
}

func splitName(name string) (string, []string) {
	parts := strings.Split(name, ".")
	return parts[0], parts[1:]
}

// Value returns a variable. ok is false if it does not exist or cannot be loaded.
func (s *Scope) Value(name string) (v any, ok bool) {
	v, ok, err := s.lookup(name)
	return v, ok && err == nil
}

// At returns the value behind a pointer into the variables ("/request/object/spec"), nil if there is none.
func (s *Scope) At(pointer string) any {
	name, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	value, _ := s.Value(jsonpointer.Unescape(name))
	if rest == "" {
		return value
	}
	return jsonpointer.At(value, "/"+rest)
}

// lookup finds the newest definition of a top-level name.
func (s *Scope) lookup(name string) (any, bool, error) {
	for f := s.top; f != nil; f = f.parent {
		if f.name == name {
			v, err := f.resolve(s.shared)
			return v, true, err
		}
	}
	v, ok := s.shared.root[name]
	return v, ok, nil
}

func (f *frame) resolve(sh *shared) (any, error) {
	if f.done {
		return f.value, f.err
	}
	before := &Scope{shared: sh, top: f.parent}
	if f.load != nil {
		f.value, f.err = f.load(before)
		f.load = nil
	}
	if f.err == nil && len(f.path) > 0 {
		base, _, err := before.lookup(f.name)
		f.value, f.err = withField(base, f.path, f.value), err
	}
	f.done = true
	return f.value, f.err
}

// withField returns a copy of the object with a field set. The other values are shared, not changed.
func withField(base any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	object, _ := base.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[path[0]] = withField(out[path[0]], path[1:], value)
	return out
}

// Query evaluates an expression on the variables. Variables that it names are loaded first, and only
// those: an expression on the whole context sees what was loaded before. The result can share parts
// with the variables and must not be changed. The error wraps that of package jmespath, *jmespath.NotFoundError where a
// variable or a key does not exist, or is what a loader said.
func (s *Scope) Query(e *jmespath.Expression) (any, error) {
	data, err := s.data(e)
	if err != nil {
		return nil, err
	}
	v, err := e.Search(s.shared.ctx, data, s.shared.env)
	if err != nil {
		return nil, fmt.Errorf("JMESPath query failed: %w", err)
	}
	return v, nil
}

// Reads returns the fields that an expression reads, as pointers into the variables ("/request/object/spec/replicas").
// Variables that cannot be loaded are ignored.
func (s *Scope) Reads(e *jmespath.Expression) []string {
	data, err := s.data(e)
	if err != nil {
		return nil
	}
	return e.Reads(data)
}

// data has the variables that an expression can read.
func (s *Scope) data(e *jmespath.Expression) (map[string]any, error) {
	if s.view == nil {
		s.view = make(map[string]any, 4)
	}
	for _, name := range e.Roots() {
		if name == "@" {
			return s.all(), nil
		}
		if _, ok := s.view[name]; ok {
			continue
		}
		v, ok, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		if ok {
			s.view[name] = v
		}
	}
	return s.view, nil
}

// all returns every variable that is known without loading.
func (s *Scope) all() map[string]any {
	out := maps.Clone(s.shared.root)
	if out == nil {
		out = map[string]any{}
	}
	seen := map[string]bool{}
	for f := s.top; f != nil; f = f.parent {
		if seen[f.name] || !f.done && f.load != nil {
			continue
		}
		seen[f.name] = true
		if v, err := f.resolve(s.shared); err == nil {
			out[f.name] = v
		}
	}
	return out
}

// maxCompiled limits the number of cached expressions that are compiled while resolving.
const maxCompiled = 128

// compile caches expressions whose text comes from variables, since in a loop it is often the same.
func (s *Scope) compile(text string) (*jmespath.Expression, error) {
	if e, ok := s.shared.compiled[text]; ok {
		return e, nil
	}
	e, err := jmespath.Compile(text)
	if err != nil {
		return nil, err
	}
	if s.shared.compiled == nil || len(s.shared.compiled) >= maxCompiled {
		s.shared.compiled = map[string]*jmespath.Expression{}
	}
	s.shared.compiled[text] = e
	return e, nil
}

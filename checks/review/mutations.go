package review

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// Mutations is the result of a resource's mutate rules, which run before other rules. A finding's field is a field of
// the mutated object. Its place is in the sources, or in the rule that wrote the field.
type Mutations struct {
	object   admission.Object
	versions *diff.Versions // of the object before the change
	writes   []write        // in order
}

// write is a field that a mutate rule wrote, by its stable pointer (see diff.StableField).
type write struct {
	field  string
	policy engine.PolicyRef
	rule   string
	line   int
}

// mutationsOf follows the mutate rules of a review. It returns nil if none changed the object.
func mutationsOf(p *diff.Pair, results []engine.Result) *Mutations {
	if p.New == nil {
		return nil
	}
	m := &Mutations{object: p.New.Object}
	for _, res := range results {
		if !res.Mutation || res.Patched == nil {
			continue
		}
		w := write{policy: res.Policy, rule: res.Rule, line: max(res.Line, res.Policy.Line)}
		diff.Edited(m.object, res.Patched, "", func(pointer string) {
			w.field = diff.StableField(res.Patched, pointer)
			m.writes = append(m.writes, w)
		})
		m.object = res.Patched
	}
	// A removed field is not written by a rule, but shifts other fields.
	if len(m.writes) == 0 && reflect.DeepEqual(p.New.Object, m.object) {
		return nil
	}
	m.versions = diff.NewVersions(p.New.Object, m.object)
	return m
}

// patched returns an object after its mutate rules.
func patched(object admission.Object, results []engine.Result) admission.Object {
	for _, res := range slices.Backward(results) {
		if res.Mutation && res.Patched != nil {
			return res.Patched
		}
	}
	return object
}

// writer returns the last rule that wrote a field of the mutated object, or a parent of the field.
func (m *Mutations) writer(field string) (write, bool) {
	at := diff.StableField(m.object, field)
	for _, w := range slices.Backward(m.writes) {
		if at == w.field || strings.HasPrefix(at, w.field+"/") {
			return w, true
		}
	}
	return write{}, false
}

// rendered returns the pointer of a mutated object's field in the rendered object. For an element that a rule added, it
// is that of the list.
func (m *Mutations) rendered(field string) string {
	for {
		if at, ok := m.versions.Earlier(field); ok {
			return at
		}
		field = field[:strings.LastIndexByte(field, '/')]
	}
}

// Mutated lists the mutations of a resource, one entry for each rule.
func (a *Answer) Mutated() (list []report.Mutation) {
	if a.Mutations == nil {
		return nil
	}
	var last write
	for i, w := range a.Mutations.writes {
		if i == 0 || w.policy != last.policy || w.rule != last.rule || w.line != last.line {
			list = append(list, report.Mutation{Policy: w.policy.FullName(), Rule: w.rule, Resource: Named(a.Pair.New.Object),
				Root: a.Pair.Root.Name(), PolicyPath: w.policy.Path, PolicyLine: w.line})
		}
		one := &list[len(list)-1]
		one.Fields, last = append(one.Fields, w.field), w
	}
	return list
}

// By lists the policies that changed the object.
func (m *Mutations) By() map[string]bool {
	names := map[string]bool{}
	if m != nil {
		for _, w := range m.writes {
			names[w.policy.FullName()] = true
		}
	}
	return names
}

// Object is the resource of a pair after its mutate rules.
func (a *Answer) Object() admission.Object {
	if a.Mutations != nil {
		return a.Mutations.object
	}
	return a.Pair.Resource().Object
}

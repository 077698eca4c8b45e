package mutate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// maxDepth limits the nesting of patches.
const maxDepth = 100

var errDepth = errors.New("the patch nests too deep")

// overlay applies a strategic merge patch with anchors. If a condition of the patch outside of lists is not met, or a
// global condition is met nowhere, the object stays unchanged.
func overlay(patch any, object admission.Object) (admission.Object, error) {
	id := admission.IdentityOf(object)
	m := merger{builtin: builtinGroup(id.Group), kind: id.Kind}
	plain, verdict, err := m.conditions(patch, object, field{}, 0)
	if err != nil || verdict != matched {
		return object, err
	}
	p, ok := plain.(map[string]any)
	if !ok || len(p) == 0 {
		return object, nil
	}
	out, err := m.merge(object, p, field{}, 0)
	if err != nil {
		return object, err
	}
	result, ok := out.(map[string]any)
	if !ok {
		return object, errors.New("the patch deletes the object")
	}
	return result, nil
}

// verdict is the result of the anchors in a part of a patch.
type verdict int

const (
	matched verdict = iota
	unmet           // a condition does not hold: this part, up to the element of a list, is left out
	stopped         // a global condition does not hold: the whole patch is left out
)

// The anchors of a mutate rule (https://kyverno.io/docs/policy-types/cluster-policy/mutate/#mutate-anchors).
const (
	conditional = '('
	addIfAbsent = '+'
	global      = '<'
)

// anchorOf splits a key into its anchor, 0 if it has none, and its name.
func anchorOf(key string) (anchor byte, name string) {
	if !strings.HasSuffix(key, ")") {
		return 0, key
	}
	switch {
	case strings.HasPrefix(key, "("):
		return conditional, key[1 : len(key)-1]
	case strings.HasPrefix(key, "+("), strings.HasPrefix(key, "<("):
		return key[0], key[2 : len(key)-1]
	}
	return 0, key
}

// conditions checks the anchors of a patch against the object and returns the patch without them.
func (m merger) conditions(patch, object any, at field, depth int) (any, verdict, error) {
	if depth > maxDepth {
		return nil, matched, errDepth
	}
	switch p := patch.(type) {
	case map[string]any:
		return m.mapConditions(p, object, at, depth)
	case []any:
		return m.listConditions(p, object, at, depth)
	}
	return patch, matched, nil
}

func (m merger) mapConditions(p map[string]any, object any, at field, depth int) (any, verdict, error) {
	have, _ := object.(map[string]any)
	keys := slices.Sorted(maps.Keys(p))
	if verdict, err := selected(p, have, keys); err != nil || verdict != matched {
		return nil, verdict, err
	}
	out := make(map[string]any, len(p))
	for _, key := range keys {
		anchor, name := anchorOf(key)
		current, exists := have[name]
		part := p[key]
		condition := anchor == conditional || anchor == global
		if condition && !adds(part) {
			// A field that a condition requires to be absent is still to be added.
			part = additionOf(part, 0)
		}
		if condition && part == nil || anchor == addIfAbsent && exists {
			continue
		}
		value, verdict, err := m.conditions(part, current, at.child(name), depth+1)
		if err != nil || verdict != matched {
			return nil, verdict, err
		}
		if isEmpty(value) && (condition || !isEmpty(part)) {
			continue // nothing is left of it
		}
		out[name] = value
	}
	return out, matched, nil
}

// selected checks the conditions of a map itself. The global ones come first, since they have priority.
func selected(p, have map[string]any, keys []string) (verdict, error) {
	for _, kind := range []struct {
		anchor byte
		not    verdict
	}{{global, stopped}, {conditional, unmet}} {
		for _, key := range keys {
			anchor, name := anchorOf(key)
			if anchor != kind.anchor {
				continue
			}
			ok, err := chosen(p[key], have, name)
			if err != nil {
				return matched, fmt.Errorf("the condition %q: %w", key, err)
			}
			if !ok {
				return kind.not, nil
			}
		}
	}
	return matched, nil
}

// conditionOf returns a condition without the fields to add.
func conditionOf(v any, depth int) any {
	switch c := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(c))
		for k, v := range c {
			if a, _ := anchorOf(k); a != addIfAbsent && depth < maxDepth {
				out[k] = conditionOf(v, depth+1)
			}
		}
		return out
	case []any:
		out := make([]any, len(c))
		for i, v := range c {
			out[i] = conditionOf(v, depth+1)
		}
		return out
	}
	return v
}

// additionOf returns the part of a condition that is to be added, nil for none.
func additionOf(v any, depth int) any {
	if !anchored(v, depth, "+") {
		return nil
	}
	switch c := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range c {
			a, name := anchorOf(k)
			if a == addIfAbsent {
				out[k] = v
			} else if rest := additionOf(v, depth+1); rest != nil {
				out[name] = rest
			} else if a != 0 {
				out[k] = v
			} else {
				out["("+k+")"] = v // it chooses the element of a list
			}
		}
		return out
	case []any:
		var out []any
		for _, v := range c {
			if rest := additionOf(v, depth+1); rest != nil {
				out = append(out, rest)
			}
		}
		return out
	}
	return nil
}

// adds reports whether a map has fields that are added if they are missing.
func adds(v any) bool {
	p, _ := v.(map[string]any)
	for key := range p {
		if anchor, _ := anchorOf(key); anchor == addIfAbsent {
			return true
		}
	}
	return false
}

// chosen reports whether the object fulfills a condition. A condition with fields to add only requires its field to
// exist, and the rest is used as a patch, as in Kyverno.
func chosen(want any, have map[string]any, name string) (bool, error) {
	if adds(want) {
		_, ok := have[name]
		return ok, nil
	}
	return holds(conditionOf(want, 0), have, name)
}

// holds matches the value of an anchor like a pattern of a validate rule.
func holds(want any, have map[string]any, name string) (bool, error) {
	compiled, err := pattern.Compile(map[string]any{name: want})
	if err != nil {
		return false, err
	}
	if _, ok := have[name]; !ok && !pattern.HasWildcard(name) {
		return false, nil
	}
	return compiled.Match(have).Verdict == pattern.Pass, nil
}

// listConditions applies an element of the patch that has anchors to each element of the object's list for
// which its conditions hold. An element with a global condition only decides whether the patch is applied. Against a
// list that is not there it is held once, so that such a condition is not met; an empty list has no element to ask.
func (m merger) listConditions(p []any, object any, at field, depth int) (any, verdict, error) {
	targets, _ := object.([]any)
	if object == nil {
		targets = []any{nil}
	}
	out := make([]any, 0, len(p))
	for _, item := range p {
		element, isMap := item.(map[string]any)
		if !isMap || !anchored(element, 0, "(+<") {
			out = append(out, item)
			continue
		}
		passed, stops := false, false
		decides := object == nil || anchored(element, 0, "<")
		settled, _ := jsonpointer.Copy(element, func(v any) any { return v }).(map[string]any)
		for _, target := range targets {
			if err := settle(settled, target, depth+1); err != nil {
				return nil, matched, err
			}
			value, verdict, err := m.conditions(settled, target, at.element(), depth+1)
			if err != nil {
				return nil, matched, err
			}
			stops = stops || verdict == stopped
			if verdict != matched {
				continue
			}
			passed = true
			if v, _ := value.(map[string]any); len(v) > 0 && !decides {
				out = append(out, m.aimed(v, target, at))
			}
		}
		if stops && !passed {
			return nil, stopped, nil
		}
	}
	return out, matched, nil
}

// settle decides what an element of a patch adds by the element of the object that it is held against. Kyverno
// decides each field once: by the first element of the list whose conditions around the field hold, for all
// that follow (processListOfMaps in pkg/engine/mutate/patch/strategicPreprocessing.go of Kyverno works on one
// copy of the patch). Where containers differ in what they have, that is what a cluster makes of them.
func settle(p map[string]any, object any, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	have, _ := object.(map[string]any)
	keys := slices.Sorted(maps.Keys(p))
	for _, key := range keys {
		anchor, name := anchorOf(key)
		if anchor != addIfAbsent {
			continue
		}
		value := p[key]
		delete(p, key)
		if _, exists := have[name]; !exists {
			p[name] = value
		}
	}
	for _, key := range keys {
		if anchor, name := anchorOf(key); anchor == conditional || anchor == global {
			if ok, err := chosen(p[key], have, name); err != nil {
				return fmt.Errorf("the condition %q: %w", key, err)
			} else if !ok {
				return nil
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if inner, ok := p[key].(map[string]any); ok {
			if anchor, _ := anchorOf(key); anchor == 0 {
				if err := settle(inner, have[key], depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// aimed adds the first merge key of the target element to an element of a patch.
func (m merger) aimed(patch map[string]any, target any, at field) map[string]any {
	t, _ := target.(map[string]any)
	key := "name"
	if keys := m.mergeKeys(at, []any{target}); len(keys) > 0 {
		key = keys[0]
	}
	if v, ok := t[key]; ok {
		patch[key] = v
	}
	return patch
}

// anchored reports whether a part of a patch contains one of the anchors.
func anchored(v any, depth int, anchors string) bool {
	if depth > maxDepth {
		return false
	}
	switch c := v.(type) {
	case map[string]any:
		for k, v := range c {
			if a, _ := anchorOf(k); a != 0 && strings.IndexByte(anchors, a) >= 0 || anchored(v, depth+1, anchors) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(c, func(v any) bool { return anchored(v, depth+1, anchors) })
	}
	return false
}

func isEmpty(v any) bool {
	switch c := v.(type) {
	case map[string]any:
		return len(c) == 0
	case []any:
		return len(c) == 0
	}
	return false
}

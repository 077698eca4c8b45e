package pattern

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/engine/explain"
)

// verdict is the result of a part of a pattern.
type verdict byte

const (
	pass verdict = iota
	fail
	skip // a condition below is not met
	// skipNow is a skip caused by a global anchor of a map, which applies up to the next list or condition. Unlike
	// other skips it also disables the keys next to an equality anchor.
	skipNow
)

const (
	conditionalMismatch = "conditional anchor mismatch: "
	globalMismatch      = "global anchor mismatch: "
	negationMatched     = "negation anchor matched in resource: "
)

// match compares a value with the node. Without a recorder it stops as soon as the verdict is certain.
func (n *node) match(value any, r *recorder) verdict {
	switch n.shape {
	case shapeMap:
		m, ok := value.(map[string]any)
		if !ok {
			if r == nil {
				return fail
			}
			r.wants(n.requirement)
			return r.fail(r.here(), "pattern and resource have different structures. Path: ", r.here(),
				fmt.Sprintf(". Expected map[string]interface {}, found %T", value))
		}
		return n.matchMap(m, r)
	case shapeScalar:
		return n.matchScalar(value, r)
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		r.wants(n.requirement)
		return structureMismatch(r)
	case n.shape == shapeEmptyList:
		r.wants(n.requirement)
		return r.fail(r.here(), "pattern Array empty")
	}
	return n.matchElements(list, r)
}

func structureMismatch(r *recorder) verdict {
	return r.fail(r.here(), "validation rule failed at path ", r.here(),
		", resource does not satisfy the expected overlay pattern")
}

// matchScalar compares a value, or each element of a list, with a leaf.
func (n *node) matchScalar(value any, r *recorder) verdict {
	list, isList := value.([]any)
	if n.list && !isList {
		r.wants(n.requirement)
		return structureMismatch(r)
	}
	if n.scalar.Matches(value) {
		return pass
	}
	if r == nil {
		return fail
	}
	path := r.here()
	text := "resource value '" + show(value) + "' does not match '" + show(n.scalar.raw) + "' at path " + path
	if !isList || r.muted > 0 {
		r.wants(func() explain.Requirement { return n.scalar.requirement(value) })
		return r.fail(path, text)
	}
	for i, element := range list {
		if !n.scalar.matchOne(element) {
			m := r.enterIndex(i)
			r.wants(func() explain.Requirement { return n.scalar.requirement(element) })
			r.fail(path, text)
			r.leave(m)
		}
	}
	return fail
}

// matchMap evaluates the anchors of a map and then its other keys
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#anchors-and-child-elements-conditional-and-equality).
func (n *node) matchMap(m map[string]any, r *recorder) verdict {
	r.matched(n.anchors, m) // Kyverno looks up the anchors before it expands the metadata
	n = n.of(m)
	failed := false
	if len(n.anchors) > 0 {
		v := n.matchAnchors(m, r)
		if v != pass && (v != fail || !r.collecting()) {
			return v
		}
		failed = v == fail
	}
	for i := range n.fields {
		e := &n.fields[i]
		v := e.match(m, r)
		switch {
		case v == pass:
		case v == fail && r.collecting():
			failed = true
		case failed:
			// The following keys would not be evaluated once the failures are fixed.
			return fail
		default:
			return v
		}
	}
	if failed {
		return fail
	}
	return pass
}

// matchAnchors evaluates the conditional, equality, negation and existence anchors of a map. If a condition is not met,
// or a global anchor below is not, the map is skipped whatever the other anchors result in. A skip from further below
// an equality anchor counts only if no other anchor applies.
func (n *node) matchAnchors(m map[string]any, r *recorder) verdict {
	applied, skipped, skippedNow, failed := 0, 0, false, false
	reasons, where := "", ""
	for i := range n.anchors {
		e := &n.anchors[i]
		if skippedNow {
			r.mute()
		}
		v := e.match(m, r)
		if skippedNow {
			r.unmute()
		}
		switch v {
		case pass:
			applied++
		case fail:
			if skippedNow {
				break // only the words of further skips are of interest
			}
			if !r.collecting() {
				return fail
			}
			failed = true
		case skip, skipNow:
			if failed && v == skipNow {
				return fail
			}
			skipped++
			if r == nil {
				if v == skipNow {
					return skip
				}
				break
			}
			skippedNow = skippedNow || v == skipNow
			if reasons != "" {
				reasons += "; "
			}
			reasons += r.text
			where = r.here()
		}
	}
	switch {
	case failed:
		return fail
	case skippedNow, skipped > 0 && applied == 0:
		if r != nil {
			r.text, r.where = reasons, where
		}
		return skip
	}
	return pass
}

// match evaluates one key of a map.
func (e *entry) match(m map[string]any, r *recorder) verdict {
	value, ok := m[e.name]
	if !ok && e.wild {
		return e.matchWild(m, r)
	}
	return e.matchField(e.name, value, ok, r)
}

// matchWild evaluates a key with wildcards in labels or annotations for all keys that match and have text as their
// value. Kyverno uses an arbitrary one of them. Here a condition is met if one of them meets it, and everything else
// must hold for all of them, so that the result is always the same, and the stricter one.
func (e *entry) matchWild(m map[string]any, r *recorder) verdict {
	condition := e.anchor == anchorConditional || e.anchor == anchorGlobal
	matched, result := false, pass
	one := func(name string, value any) (done bool) {
		matched = true
		v := e.matchField(name, value, true, r)
		if condition && v == pass {
			result = pass
			return true
		}
		if v == fail || result == pass {
			result = v
		}
		return v == fail && !r.collecting()
	}
	if r == nil {
		for k, value := range m {
			if e.stands(k, value) && one(k, value) {
				break
			}
		}
	} else {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if e.stands(k, m[k]) && one(k, m[k]) {
				break
			}
		}
	}
	if !matched {
		return e.matchField(e.name, nil, false, r)
	}
	return result
}

// stands reports whether a key of a map matches a key with wildcards.
func (e *entry) stands(key string, value any) bool { return Wildcard(e.name, key) && isText(value) }

// matchField evaluates an entry for the field of the given name, which may be absent.
func (e *entry) matchField(name string, value any, present bool, r *recorder) verdict {
	mk := r.enter(name)
	defer r.leave(mk)
	if value == any(Matching) && e.anchor != anchorNegation {
		return pass
	}
	switch e.anchor {
	case anchorNegation:
		if present {
			return negated(r)
		}
	case anchorEquality:
		if present {
			return e.value.match(value, r)
		}
	case anchorExistence:
		if present {
			return e.matchExistence(value, r)
		}
	case anchorGlobal:
		if present {
			return e.matchCondition(value, globalMismatch, r)
		}
	case anchorConditional:
		if present {
			return e.matchCondition(value, conditionalMismatch, r)
		}
		if r != nil {
			r.text, r.where = conditionalMismatch+"conditional anchor key doesn't exist in the resource", r.here()
		}
		return skipNow
	default:
		return e.matchPlain(value, present, mk, r)
	}
	return pass
}

// matchPlain evaluates a key without an anchor. An absent key is matched as null.
func (e *entry) matchPlain(value any, present bool, parent mark, r *recorder) verdict {
	if r == nil {
		if e.anything {
			if value == nil {
				return fail
			}
			return pass
		}
		return e.value.match(value, nil)
	}
	if !present && e.wild {
		// No key can be named, so the field is the map that lacks it.
		r.pointer = r.pointer[:parent.pointer]
		r.wants(e.someKey)
		defer r.silence()()
	}
	if e.anything {
		if value != nil {
			return pass
		}
		r.wants(anyValue)
		path := string(r.printed[:parent.printed])
		return r.fail(path, path, "/", e.name, " not found")
	}
	return e.value.match(value, r)
}

// matchCondition evaluates the value of a conditional or global anchor: unless it passes, the pattern does not apply.
func (e *entry) matchCondition(value any, prefix string, r *recorder) verdict {
	if r == nil {
		if e.value.match(value, nil) == pass {
			return pass
		}
		return skipNow
	}
	r.mute()
	v := e.value.match(value, r)
	r.unmute()
	if v == pass {
		return pass
	}
	r.text = prefix + r.text
	return skipNow
}

func negated(r *recorder) verdict {
	if r == nil {
		return fail
	}
	r.text, r.where = negationMatched+r.here()+" is not allowed", r.here()
	if r.muted == 0 {
		r.wants(absent)
		r.fields = append(r.fields, string(r.pointer))
		r.report(true)
	}
	return fail
}

// show returns a value for a message, shortened for people to read.
func show(value any) string { return explain.Clip(fmt.Sprint(value), 200) }

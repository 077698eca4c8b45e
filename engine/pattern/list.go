package pattern

import (
	"fmt"

	"github.com/lintel-bot/lintel/engine/explain"
)

// matchExistence requires that each element of the pattern matches at least one element of the list.
func (e *entry) matchExistence(value any, r *recorder) verdict {
	list, ok := value.([]any)
	if !ok {
		return noListOfMaps(r)
	}
	for _, item := range e.some {
		if item.shape != shapeMap {
			return noListOfMaps(r)
		}
		found := false
		for i, element := range list {
			m := r.enterIndex(i)
			r.mute()
			found = item.match(element, r) == pass
			r.unmute()
			r.leave(m)
			if found {
				break
			}
		}
		if !found {
			r.wants(func() explain.Requirement { return item.oneMore(len(list)) })
			return r.fail(r.here(), "existence anchor validation failed at path ", r.here())
		}
	}
	return pass
}

func noListOfMaps(r *recorder) verdict {
	return r.fail(r.here(), "invalid value: the existence anchor compares lists of maps")
}

// matchElements compares every element of a list with one map, or, for a list of lists, the elements pairwise. Elements
// whose condition is not met are ignored; if all are ignored, the list is skipped.
func (n *node) matchElements(list []any, r *recorder) verdict {
	if n.shape == shapeListOfLists {
		if len(list) < len(n.elements) {
			if r == nil {
				return fail
			}
			return r.fail("", fmt.Sprintf("validate Array failed, array length mismatch, resource Array len is %d and pattern "+
				"Array len is %d", len(list), len(n.elements)))
		}
		list = list[:len(n.elements)]
	}
	applied, failed := 0, false
	reasons := ""
	for i, element := range list {
		m := r.enterIndex(i)
		item := n.elements[0]
		if n.shape == shapeListOfLists {
			item = n.elements[i]
		}
		v := item.match(element, r)
		r.leave(m)
		switch {
		case v == pass:
			applied++
		case v != fail:
			reasons = r.join(reasons)
		case r.collecting():
			failed = true
		default:
			return fail
		}
	}
	switch {
	case failed:
		return fail
	case applied == 0 && len(list) > 0:
		if r != nil {
			r.text, r.where = reasons, r.here()
		}
		return skip
	}
	return pass
}

// join appends the reason of the last skip to the earlier reasons.
func (r *recorder) join(reasons string) string {
	switch {
	case r == nil:
		return ""
	case reasons == "":
		return r.text
	}
	return reasons + "; " + r.text
}

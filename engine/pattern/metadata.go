package pattern

import (
	"maps"
	"slices"
)

// Before Kyverno compares a map that has metadata, it writes the labels of the pattern anew wherever the object has a map
// of labels, and likewise the annotations: keys with wildcards become the keys that match, and entries whose value is no
// text are left out, with their anchors (ExpandInMetadata of its package wildcards). What is left out is decided when the
// pattern is compiled, for each combination of maps that an object can have.

// The bits that are combined.
const (
	hasLabels      = 1
	hasAnnotations = 2
)

// compileExpanded compiles the map again without the ignored entries, for each combination of labels and annotations.
// It returns nil if none is ignored.
func (c *compiler) compileExpanded(raw map[string]any, at place) (*[4]*node, error) {
	var out *[4]*node
	for have := hasLabels; have <= hasLabels|hasAnnotations; have++ {
		left, changed := withoutValues(raw, have)
		if !changed {
			continue
		}
		n, err := c.compileKeys(left, at)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = new([4]*node)
		}
		out[have] = n
	}
	return out, nil
}

// withoutValues returns a map of a pattern without the entries of its metadata's labels and annotations that are not
// text.
func withoutValues(raw map[string]any, have int) (out map[string]any, changed bool) {
	key, metadata := child(raw, "metadata")
	for _, part := range []struct {
		name string
		bit  int
	}{{"labels", hasLabels}, {"annotations", hasAnnotations}} {
		name, entries := child(metadata, part.name)
		if have&part.bit == 0 || !holdsOther(entries) {
			continue
		}
		entries = maps.Clone(entries)
		maps.DeleteFunc(entries, func(_ string, value any) bool { return !isText(value) })
		metadata = maps.Clone(metadata)
		metadata[name] = entries
		changed = true
	}
	if !changed {
		return raw, false
	}
	out = maps.Clone(raw)
	out[key] = metadata
	return out, true
}

// child returns the map below a key of a pattern, with or without an anchor.
func child(of map[string]any, name string) (key string, value map[string]any) {
	if m, ok := of[name]; ok {
		value, _ = m.(map[string]any)
		return name, value
	}
	for _, k := range slices.Sorted(maps.Keys(of)) { // Kyverno takes any; here the answer is always the same
		if kind, field, problem := parseKey(k); problem == "" && kind != anchorNone && field == name {
			value, _ = of[k].(map[string]any)
			return k, value
		}
	}
	return "", nil
}

func holdsOther(entries map[string]any) bool {
	for _, value := range entries {
		if !isText(value) {
			return true
		}
	}
	return false
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// of returns the node to use for a map of a pattern when it is compared with a value.
func (n *node) of(m map[string]any) *node {
	if n.expanded == nil {
		return n
	}
	metadata, _ := m["metadata"].(map[string]any)
	have := 0
	if _, ok := metadata["labels"].(map[string]any); ok {
		have |= hasLabels
	}
	if _, ok := metadata["annotations"].(map[string]any); ok {
		have |= hasAnnotations
	}
	if other := n.expanded[have]; other != nil {
		return other
	}
	return n
}

package doc

// Overlaps reports whether two edits of one file replace the same text differently.
func (c *Edit) Overlaps(other *Edit) bool {
	for _, a := range c.spans {
		for _, b := range other.spans {
			if a != b && a.start < b.end && b.start < a.end {
				return true
			}
		}
	}
	return false
}

// Join returns several edits of one document as one edit. The later ones are applied to the result of the earlier ones.
func Join(edits ...*Edit) *Edit {
	out := *edits[0]
	out.spans, out.meaning = nil, nil
	for _, c := range edits {
		out.fail(c.Unsafe)
		out.spans, out.meaning = append(out.spans, c.spans...), append(out.meaning, c.meaning...)
	}
	return &out
}

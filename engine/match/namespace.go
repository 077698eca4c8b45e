package match

// ReadsNamespace reports whether the block asks for labels of the Namespace that a request is in.
func (b *Block) ReadsNamespace() bool {
	if b == nil {
		return false
	}
	for _, list := range [][]filter{b.any, b.all} {
		for i := range list {
			if list[i].namespaceSelector != nil {
				return true
			}
		}
	}
	return false
}

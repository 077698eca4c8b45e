package graph

// Settle gives the graph its own index.
func (g *Graph) Settle() error { return g.settle() }

// Snapshot returns the bytes of the index that the graph is based on.
func (g *Graph) Snapshot() []byte { return g.base.data }

// Derived reports whether files differ from that index.
func (g *Graph) Derived() bool { return len(g.hiddenFiles) > 0 }

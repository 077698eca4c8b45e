package render

import "fmt"

// keptIn returns under which scope and name something is kept that follows from the tree, from what was fetched and
// from how the roots are rendered, and from nothing else; false where nothing is.
func (r *Renderer) keptIn(name string) (scope, entry string, ok bool) {
	if r.cache == nil || r.tree.ID() == "" || len(r.overlay) > 0 {
		return "", "", false
	}
	clusters := ""
	if r.clusters != nil {
		clusters = r.clusters.ID
	}
	scope = r.cache.Disk.Scope("kept", r.cache.Repository, fmt.Sprint(r.limits, r.tree.BlobLimit()), r.set.Options(),
		r.outside.sources.ID(), clusters)
	return scope, r.tree.ID() + "-" + name, true
}

// Kept returns what another renderer of the same tree, with the same roots, limits and clusters and with the same
// fetched, kept under a name.
func (r *Renderer) Kept(name string) (data []byte, ok bool) {
	scope, entry, ok := r.keptIn(name)
	if !ok {
		return nil, false
	}
	return r.cache.Disk.Get(scope, entry)
}

// Keep keeps what follows from the tree and the renderings of its roots alone, unless something is still to be fetched
// for them. A name has letters, digits and dashes.
func (r *Renderer) Keep(name string, data []byte) {
	if scope, entry, ok := r.keptIn(name); ok && len(r.outside.sources.Wanted()) == 0 {
		_ = r.cache.Disk.Put(scope, entry, data) // without it the next check finds it out again
	}
}

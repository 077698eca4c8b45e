package checks

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// declared answers look-ups from what the head declares, and from the files the settings name. It renders only
// the roots that can hold an object of the kind asked for, when it is first asked.
type declared struct {
	tree     *tree.Tree
	graph    *graph.Graph
	renderer *render.Renderer
	context  []string // files and folders from the settings

	mu    sync.Mutex
	kinds map[string][]admission.Object // by group/kind
	roots map[graph.Root][]*render.Resource
}

var _ admission.Cluster = (*declared)(nil)

// Get implements admission.Cluster.
func (d *declared) Get(ctx context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	for _, o := range d.all(ctx, group, kind) {
		id := admission.IdentityOf(o)
		if id.Name == name && (namespace == "" || id.Namespace == namespace || id.Namespace == "") {
			return o, true
		}
	}
	return nil, false
}

// List implements admission.Cluster.
func (d *declared) List(ctx context.Context, group, kind, namespace string) []admission.Object {
	all := d.all(ctx, group, kind)
	if namespace == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(o admission.Object) bool {
		return admission.IdentityOf(o).Namespace != namespace
	})
}

// all answers every declared object of a kind, in order of the roots; the settings' files come last.
func (d *declared) all(ctx context.Context, group, kind string) []admission.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	if list, ok := d.kinds[group+"/"+kind]; ok {
		return list
	}
	var list []admission.Object
	add := func(resources []*render.Resource) {
		for _, r := range resources {
			if id := admission.IdentityOf(r.Object); id.Kind == kind && id.Group == group {
				list = append(list, r.Object)
			}
		}
	}
	files := d.candidates(kind)
	for _, root := range d.graph.Reach(files) {
		resources, ok := d.roots[root]
		if !ok {
			// A root that does not render declares nothing; where the change reaches it, its problem is
			// reported there.
			if out, _, err := d.renderer.Render(ctx, root); err == nil {
				resources = out.Resources
			}
			d.roots[root] = resources
		}
		add(resources)
	}
	for _, p := range files {
		if underAny(p, d.context) {
			if resources, _, _, err := d.renderer.Manifest(p); err == nil {
				add(resources)
			}
		}
	}
	if ctx.Err() == nil {
		d.kinds[group+"/"+kind] = list
	}
	return list
}

// candidates lists the files that can bring forth an object of a kind.
func (d *declared) candidates(kind string) []string {
	var files []string
	generated := kind == "ConfigMap" || kind == "Secret"
	_ = d.tree.Walk(func(p string, e tree.Entry) error {
		if !graph.IsManifestName(p) && !kustomization.IsFileName(p) {
			return nil
		}
		data, _, err := d.tree.ReadFile(p)
		if err != nil {
			return nil
		}
		word := []byte(kind)
		if generated && kustomization.IsFileName(p) {
			word = []byte(strings.ToLower(kind[:1]) + kind[1:] + "Generator")
		}
		if bytes.Contains(data, word) {
			files = append(files, p)
		}
		return nil
	})
	return files
}

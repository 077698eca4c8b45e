package render

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// explain turns kustomize's error into problems with lines and readable messages.
func (b *builder) explain(root roots.Root, p *plan, failure error) []doc.Error {
	// Find returns a shared list, so it is copied before it is changed.
	list := slices.Clone(b.finder.Find(rebuilder{b, p.openAPI}, root.Path, p.kustomizations, p.manifests, failure))
	for i := range list {
		list[i].Quotes = len(p.wants) > 0 || isMounted(root.Path)
	}
	return list
}

// without returns a builder that reads the kustomizations without their omitted entries, and all other files unchanged.
func (b *builder) without(texts map[string][]byte) *builder {
	if len(texts) == 0 {
		return b
	}
	overlay := map[string][]byte{}
	maps.Copy(overlay, b.overlay)
	maps.Copy(overlay, texts)
	return b.with(overlay)
}

// rebuilder builds parts of a repository to find the cause of a failed build. It implements diagnostics.Repository.
type rebuilder struct {
	*builder
	openAPI bool
}

func (t rebuilder) Build(dir string, files map[string][]byte) ([]*yaml.Node, error) {
	overlay := maps.Clone(t.overlay)
	if overlay == nil {
		overlay = map[string][]byte{}
	}
	maps.Copy(overlay, files)
	return t.with(overlay).plainly(roots.Root{Path: dir}, t.openAPI)
}

func (t rebuilder) Read(name string) ([]byte, error) {
	data, _, err := t.read(name)
	return data, err
}

func (t rebuilder) Kustomization(dir string) (*kustomization.File, error) {
	return t.kustomization(dir)
}

func (t rebuilder) Unrestricted() bool { return t.index.Unrestricted() }

func (t rebuilder) Lookup(name string) (string, tree.Entry, error) { return t.lookup(name) }

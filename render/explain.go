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

// explain turns kustomize's error into problems with lines and words for people.
func (b *builder) explain(root roots.Root, p *plan, failure error) []doc.Error {
	// What was found before is remembered for all that ask.
	list := slices.Clone(b.finder.Find(rebuilder{b, p.openAPI}, root.Path, p.kustomizations, p.manifests, failure))
	for i := range list {
		list[i].Quotes = len(p.wants) > 0 || isMounted(root.Path)
	}
	return list
}

// without returns a builder that sees kustomizations as they are without what is left out, and all else as this one.
func (b *builder) without(texts map[string][]byte) *builder {
	if len(texts) == 0 {
		return b
	}
	overlay := map[string][]byte{}
	maps.Copy(overlay, b.overlay)
	maps.Copy(overlay, texts)
	return b.with(overlay)
}

// rebuilder builds parts of a repository to find out what is wrong in it: it implements diagnostics.Repository.
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

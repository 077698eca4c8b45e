package roots

import (
	"fmt"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Patch reports whether any kustomization uses a file as a patch that can change something. A patch whose target
// matches nothing does not count, as kustomize ignores it.
func (x *Index) Patch(p string) bool { return x.PatchIn(p, func(string) bool { return true }) }

// PatchIn is Patch, limited to kustomizations of some folders.
func (x *Index) PatchIn(p string, in func(dir string) bool) bool {
	return slices.ContainsFunc(x.Patching(p), func(dir string) bool { return in(dir) && x.contents.aimed(dir, p) })
}

// aimed reports whether a patch in a folder's kustomization can change something.
func (c *contents) aimed(dir, p string) bool {
	f, err := c.index.Kustomization(dir)
	if f == nil || err != nil {
		return false // the kustomization is not built, either
	}
	has := c.content(dir)
	for _, field := range []string{"patchesStrategicMerge", "patches", "patchesJson6902"} {
		for _, item := range doc.Items(f.Node, field) {
			named := item
			if field != "patchesStrategicMerge" {
				_, named = doc.Field(item, "path")
			}
			if _, target := doc.Field(item, "target"); c.names(f, named, p) &&
				(target != nil && has.selected(target) || target == nil && has.any(c.index.identities(p))) {
				return true
			}
		}
	}
	return false
}

// names reports whether an entry of a kustomization is the path of a file.
func (c *contents) names(f *kustomization.File, entry *yaml.Node, p string) bool {
	if entry == nil || entry.Kind != yaml.ScalarNode {
		return false
	}
	named, ok := tree.Clean(path.Join(f.Dir, entry.Value))
	if !ok || named == p {
		return ok
	}
	real, _, err := c.index.Tree().Lookup(named)
	return err == nil && real == p
}

// content has the objects of a kustomization before its own transformers run, as far as its text shows.
type content struct {
	list []identity
	open bool // it may have objects that are not known
}

// identity has the fields by which a patch finds an object.
type identity struct {
	GVK                     resid.Gvk
	Name, Namespace         string
	Labels, Annotations     map[string]string
	renamed, moved, labeled bool // a kustomization that includes it may change the name, the namespace, or the labels
}

// contents caches the content of kustomizations. It is safe for concurrent use.
type contents struct {
	index *Index
	known env.Memo[string, *content]
}

// content returns the content of a folder's kustomization. above are the folders that are being read.
func (c *contents) content(dir string, above ...string) *content {
	if slices.Contains(above, dir) {
		return &content{}
	}
	return c.known.Get(dir, func() *content {
		out := &content{}
		f, err := c.index.Kustomization(dir)
		if f == nil || err != nil {
			return out
		}
		out.open = f.Component // a component changes the objects of kustomizations that include it
		for _, ref := range f.Refs {
			if ref.Role == kustomization.Resource || ref.Role == kustomization.Component {
				c.addRef(out, f, ref, append(above, dir))
			}
			out.open = out.open || ref.Role == kustomization.Plugin
		}
		for kind, field := range graph.Generators {
			for _, item := range doc.Items(f.Node, field) {
				out.list = append(out.list, identity{GVK: resid.Gvk{Version: "v1", Kind: kind}, Name: doc.Text(item, "name"),
					Namespace: doc.Text(item, "namespace"), labeled: true})
			}
		}
		out.open = out.open || len(f.Helm) > 0 || len(f.Inline) > 0
		return out
	})
}

// addRef adds the objects of an entry of a kustomization.
func (c *contents) addRef(out *content, f *kustomization.File, ref kustomization.Ref, above []string) {
	named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
	if kustomization.Remote(ref.Value) || !ok {
		out.open = true
		return
	}
	real, e, err := c.index.Tree().Lookup(named)
	switch {
	case err != nil: // the path may be generated, with unknown content
		out.open = true
	case e.Kind == tree.File:
		out.list = append(out.list, c.index.identities(real)...)
	case e.Kind == tree.Dir:
		below := c.content(real, above...)
		out.open = out.open || below.open
		k, err := c.index.Kustomization(real)
		changed := func(fields ...string) bool { return k != nil && err == nil && hasAny(k, fields...) }
		renamed, moved := changed("namePrefix", "nameSuffix"), changed("namespace")
		labeled := changed("labels", "commonLabels", "commonAnnotations", "patches", "patchesStrategicMerge", "components")
		for _, one := range below.list {
			one.renamed, one.moved, one.labeled = one.renamed || renamed, one.moved || moved, one.labeled || labeled
			out.list = append(out.list, one)
		}
	}
}

// parsed returns the documents of a file.
func (x *Index) parsed(p string) ([]*yaml.Node, error) {
	data, _, err := x.Tree().ReadFile(p)
	if err != nil {
		return nil, err
	}
	return doc.Parse(p, data, x.options.Limits)
}

var identityTable = env.Table{Name: "identity"}

// identities lists the objects of a file.
func (x *Index) identities(p string) (list []identity) {
	_, e, err := x.Tree().Lookup(p)
	if err != nil {
		return nil
	}
	key := fmt.Sprint(p, " ", e.ID, " ", x.Tree().BlobLimit(), " ", x.options.Limits)
	if list, known := env.Get[[]identity](x.Memory(), identityTable, key, nil); known {
		return list
	}
	documents, err := x.parsed(p)
	if err != nil {
		return nil
	}
	for node := range doc.Objects(documents) {
		_, metadata := doc.Field(node, "metadata")
		group, version := resid.ParseGroupVersion(doc.Text(node, "apiVersion"))
		list = append(list, identity{GVK: resid.Gvk{Group: group, Version: version, Kind: doc.Text(node, "kind")},
			Name: doc.Text(metadata, "name"), Namespace: doc.Text(metadata, "namespace"),
			Labels: texts(metadata, "labels"), Annotations: texts(metadata, "annotations")})
	}
	env.Put(x.Memory(), identityTable, key, nil, list)
	return list
}

func texts(n *yaml.Node, field string) map[string]string {
	out := map[string]string{}
	_, m := doc.Field(n, field)
	for key, value := range doc.Fields(m) {
		out[doc.Key(key)] = doc.Deref(value).Value
	}
	return out
}

// any reports whether an object that a patch without a target names may exist.
func (c *content) any(patches []identity) bool {
	return c.open || slices.ContainsFunc(patches, func(p identity) bool {
		return slices.ContainsFunc(c.list, func(o identity) bool {
			return o.GVK.Kind == p.GVK.Kind && o.GVK.Group == p.GVK.Group && (o.renamed || o.Name == p.Name)
		})
	})
}

// selected reports whether a patch's target can match something.
func (c *content) selected(target *yaml.Node) bool {
	match, err := kustomization.NewSelector(target)
	if err != nil {
		return true // the build reports the error
	}
	return c.open || slices.ContainsFunc(c.list, func(o identity) bool {
		return match.MatchGvk(o.GVK) && (o.renamed || match.MatchName(o.Name)) &&
			(o.moved || match.MatchNamespace(o.Namespace)) && (o.labeled || match.MatchLabels(o.Labels, o.Annotations))
	})
}

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// YAML returns the resource as "kustomize build" prints it, without what Admitted changed.
func (r *Resource) YAML() ([]byte, error) {
	node := r.tree()
	switch {
	case !r.plain && node != nil:
		return nodeYAML(node)
	case r.printed != nil:
		return doc.Print(r.printed)
	}
	return doc.Print(r.Object)
}

// nodeYAML converts through JSON, as kustomize does: keys are sorted, comments and styles are lost.
func nodeYAML(n *yaml.Node) ([]byte, error) {
	data, err := kyaml.NewRNode(n).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("print a rendered resource: %w", err)
	}
	return sigsyaml.JSONToYAML(data)
}

// YAML returns all resources as one stream of documents, as "kustomize build" prints it.
func (r *Rendering) YAML() ([]byte, error) {
	return stream(r.Resources, (*Resource).YAML)
}

func stream[T any](list []T, print func(T) ([]byte, error)) ([]byte, error) {
	var out bytes.Buffer
	for i, one := range list {
		data, err := print(one)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(data)
	}
	return out.Bytes(), nil
}

// Unmarked returns what "kustomize build" prints for the kustomization of a root, from unchanged files. Tests compare
// it with Render, which must print the same.
func (r *Renderer) Unmarked(ctx context.Context, root roots.Root) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if root.Kind == roots.Folder {
		return nil, errors.New("a folder of manifests has no kustomization")
	}
	p := r.plan(root.Path)
	if len(p.problems) > 0 {
		return nil, &p.problems[0]
	}
	if !r.omit(p) {
		return nil, &p.problems[0]
	}
	nodes, err := r.without(p.texts).plainly(root, p.openAPI)
	if err != nil {
		return nil, err
	}
	r.annotated(p, nodes)
	return stream(nodes, nodeYAML)
}

// plainly runs only kustomize, on unchanged files.
func (b *builder) plainly(root roots.Root, ownSchema bool) ([]*yaml.Node, error) {
	fsys := &fileSystem{builder: b, reads: map[string]string{},
		transform: func(_ string, data []byte) []byte { return data }}
	return runKustomize(fsys, root.Path, ownSchema)
}

// InPrintedOrder returns the resources of a kustomization in the order in which the program kustomize prints them
// without sortOptions: by kind and name. Renderings have the order of the build, so kustomize sorts copies with only
// the identifying fields. If kustomize refuses those, the order is unchanged.
func InPrintedOrder(list []*Resource) []*Resource {
	const mark = "lintel/number"
	var all bytes.Buffer
	for i, res := range list {
		meta, _ := res.Object["metadata"].(map[string]any)
		data, err := sigsyaml.Marshal(map[string]any{"apiVersion": res.Object["apiVersion"], "kind": res.Object["kind"],
			"metadata": map[string]any{"name": meta["name"], "namespace": meta["namespace"],
				"annotations": map[string]any{mark: strconv.Itoa(i)}}})
		if err != nil {
			return list
		}
		fmt.Fprintf(&all, "---\n%s", data)
	}
	fsys := filesys.MakeFsInMemory()
	_ = fsys.WriteFile("all.yaml", all.Bytes()) // never fails
	_ = fsys.WriteFile("kustomization.yaml", []byte("resources: [all.yaml]\n"))
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // the default of the program
	var out []*Resource
	kustomization.WithSchema(func() {
		sorted, err := krusty.MakeKustomizer(options).Run(fsys, ".")
		if err != nil {
			return
		}
		for _, one := range sorted.Resources() {
			if i, err := strconv.Atoi(one.GetAnnotations()[mark]); err == nil {
				out = append(out, list[i])
			}
		}
	})
	if len(out) != len(list) {
		return list
	}
	return out
}

package render

import (
	"bytes"
	"fmt"
	"strconv"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/kustomization"
)

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

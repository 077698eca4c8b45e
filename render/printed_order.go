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

// InPrintedOrder returns the resources of a kustomization in the order in which the program kustomize prints them where
// no sortOptions say another: by kind and name. Renderings are as they were put together, so kustomize is asked to sort
// what identifies them. Where it cannot tell them apart they stay as they are.
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
	options.Reorder = krusty.ReorderOptionUnspecified // as the program has it
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

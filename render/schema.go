package render

import (
	"errors"
	"sync"
	_ "unsafe" // for go:linkname

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/lintel-bot/lintel/render/kustomization"
)

var errCrashed = errors.New(
	"kustomize crashed on this kustomization: look for fields that are null or of the wrong type")

// kustomizeVersion is the version that buildMetadata writes into a label. The program kustomize sets it when it is built; by
// default it is the version of the main module, which a label may not contain.
//
//go:linkname kustomizeVersion sigs.k8s.io/kustomize/api/provenance.version
var kustomizeVersion string

var setVersion = sync.OnceFunc(func() { kustomizeVersion = "v5.8.0" })

// runKustomize builds the kustomization of a folder. If it sets a schema of its own, no other build runs at the same
// time. A panic of kustomize is returned as an error. Changes of the global schema are reset.
func runKustomize(fsys *fileSystem, dir string, ownSchema bool) ([]*yaml.Node, error) {
	run := kustomization.WithSchema
	if ownSchema {
		run = kustomization.WithOwnSchema
	}
	var nodes []*yaml.Node
	var err error
	run(func() { nodes, err = build(fsys, dir) })
	if errors.Is(err, errCrashed) && !ownSchema {
		kustomization.ResetSchema()
	}
	return nodes, err
}

func build(fsys *fileSystem, dir string) (nodes []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			nodes, err = nil, errCrashed
		}
	}()
	setVersion()
	options := krusty.MakeDefaultOptions()
	if fsys.builder.index.Unrestricted() {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	result, err := krusty.MakeKustomizer(options).Run(fsys, place(dir))
	if err != nil {
		return nil, err
	}
	for _, res := range result.Resources() {
		nodes = append(nodes, res.YNode())
	}
	return nodes, nil
}

package render

import (
	"errors"
	"sync"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// kustomizeSchema guards kustomize's global schema.
//
// It is the one piece of global state, and it is kustomize's: builds only read the schema once it is there, so they
// run side by side, but one that sets a schema of its own changes what the others see and runs alone. What kyaml's
// own lock does not cover is a first reading of the schema beside a look at it; hence it is read before builds meet.
var kustomizeSchema schemaGuard

type schemaGuard struct {
	sync.RWMutex
	ready bool // the built-in schema is there, and no other
}

// share waits until builds may run side by side; RUnlock ends it.
func (g *schemaGuard) share() {
	g.RLock()
	for !g.ready {
		g.RUnlock()
		g.Lock()
		if !g.ready {
			openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
			g.ready = true
		}
		g.Unlock()
		g.RLock()
	}
}

// reset puts the schema back to where it was when the program started. The lock is held.
func (g *schemaGuard) reset() {
	openapi.ResetOpenAPI()
	g.ready = false
}

var errCrashed = errors.New("kustomize crashed on this kustomization: look for fields that are null or of the wrong type")

// runKustomize runs one build, alone in the process if it sets a schema of its own. A panic of kustomize is its
// answer's error; whatever it left in the global schema is reset.
func runKustomize(o *krusty.Options, fsys *fileSystem, root string, ownSchema bool) ([]*yaml.Node, error) {
	if ownSchema {
		kustomizeSchema.Lock()
		defer kustomizeSchema.Unlock()
		kustomizeSchema.reset()
		defer kustomizeSchema.reset()
		return build(o, fsys, root)
	}
	kustomizeSchema.share()
	nodes, err := build(o, fsys, root)
	kustomizeSchema.RUnlock()
	if errors.Is(err, errCrashed) {
		kustomizeSchema.Lock()
		defer kustomizeSchema.Unlock()
		kustomizeSchema.reset()
	}
	return nodes, err
}

func build(o *krusty.Options, fsys *fileSystem, root string) (nodes []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			nodes, err = nil, errCrashed
		}
	}()
	result, err := krusty.MakeKustomizer(o).Run(fsys, root)
	if err != nil {
		return nil, err
	}
	for _, res := range result.Resources() {
		nodes = append(nodes, res.YNode())
	}
	return nodes, nil
}

package kustomization

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// guard guards kustomize's global schema. Builds only read it once it is there, so they run side by side, but one that
// sets a schema of its own changes what the others see and runs alone. What kyaml's own lock does not cover is a first
// reading of the schema beside a look at it; hence it is read before builds meet.
var guard struct {
	sync.RWMutex
	ready bool // the built-in schema is there, and no other
}

// WithSchema calls f, which only reads the schema, beside others that do.
func WithSchema(f func()) {
	guard.RLock()
	for !guard.ready {
		guard.RUnlock()
		guard.Lock()
		if !guard.ready {
			openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
			guard.ready = true
		}
		guard.Unlock()
		guard.RLock()
	}
	defer guard.RUnlock()
	f()
}

// WithOwnSchema calls f, which sets a schema of its own, while nobody else uses the schema.
func WithOwnSchema(f func()) {
	guard.Lock()
	defer guard.Unlock()
	reset()
	defer reset()
	f()
}

// ResetSchema puts the schema back to where it was when the program started.
func ResetSchema() { WithOwnSchema(func() {}) }

func reset() {
	openapi.ResetOpenAPI()
	guard.ready = false
}

// ClusterScoped reports whether kustomize holds a kind for one whose objects have no namespace. Of a schema that a
// root sets for itself it knows nothing.
func ClusterScoped(apiVersion, kind string) bool {
	guard.RLock() // the schema need not be there: kyaml knows the scopes without it
	defer guard.RUnlock()
	return openapi.IsCertainlyClusterScoped(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
}

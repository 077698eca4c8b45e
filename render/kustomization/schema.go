package kustomization

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// guard protects kustomize's global schema. Builds only read it, so they may run concurrently; a build that sets a
// schema of its own changes it for the others, and so runs alone. kyaml's own lock does not cover loading the schema
// while another goroutine reads it, so the schema is loaded before builds run concurrently.
var guard struct {
	sync.RWMutex
	ready bool // the built-in schema is loaded, and no other
}

// WithSchema calls f, which only reads the schema. Several calls may run concurrently.
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

// WithOwnSchema calls f, which sets a schema of its own, while nothing else uses the schema.
func WithOwnSchema(f func()) {
	guard.Lock()
	defer guard.Unlock()
	reset()
	defer reset()
	f()
}

// ResetSchema restores the schema as it was when the program started.
func ResetSchema() { WithOwnSchema(func() {}) }

func reset() {
	openapi.ResetOpenAPI()
	guard.ready = false
}

// ClusterScoped reports whether kustomize treats the objects of a kind as having no namespace. It does not consider a
// schema that a root sets for itself.
func ClusterScoped(apiVersion, kind string) bool {
	guard.RLock() // the schema need not be loaded: kyaml knows the scopes without it
	defer guard.RUnlock()
	return openapi.IsCertainlyClusterScoped(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
}

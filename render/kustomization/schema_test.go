package kustomization

import (
	"sync"
	"testing"
)

// Kustomize gives a namespace to objects of kinds it does not know: a FlowSchema has none, but v1 of it is newer than
// kustomize's schema.
func TestClusterScoped(t *testing.T) {
	for kind, want := range map[[2]string]bool{
		{"v1", "Namespace"}: true, {"v1", "Pod"}: false, {"flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"}: true,
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema"}: false, {"example.com/v1", "Thing"}: false, {"", ""}: false,
	} {
		if got := ClusterScoped(kind[0], kind[1]); got != want {
			t.Errorf("%s: got %v", kind, got)
		}
	}
}

func TestOwnSchemasRunAlone(t *testing.T) {
	var all sync.WaitGroup
	alone := 0 // the race detector notices if anything runs concurrently
	for range 8 {
		all.Go(func() { WithOwnSchema(func() { alone++ }) })
		all.Go(func() { WithSchema(func() { _ = alone }) })
		all.Go(func() { ClusterScoped("example.com/v1", "Thing") })
	}
	all.Wait()
	if alone != 8 {
		t.Errorf("ran %d times", alone)
	}
}

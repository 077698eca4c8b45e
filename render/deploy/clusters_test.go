package deploy

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Two objects in one file go to the same clusters, whichever is asked for first, also if one of them deploys the file.
func TestClustersDoNotDependOnOrder(t *testing.T) {
	repo := treetest.New(t)
	at := repo.Tree(repo.Commit(`
-- apps/a.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: itself}
spec: {source: {repoURL: x, path: apps}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: beside}
spec: {source: {repoURL: x, path: other, kustomize: {namePrefix: x-}}}
-- other/kustomization.yaml --
resources: [cm.yaml]
-- other/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- clusters/a/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ks, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}}
`))
	reached := map[string][]gitops.Cluster{}
	for range 2 {
		s, err := Open(at, roots.Options{}, &graph.Cache{}, render.Config{})
		if err != nil {
			t.Fatal(err)
		}
		list := slices.Clone(s.found().sorted())
		if len(reached) > 0 {
			slices.Reverse(list)
		}
		for _, one := range list {
			got := s.found().reaches(one)
			if want, asked := reached[one.id]; asked && !slices.Equal(got, want) {
				t.Errorf("%s reaches %v when asked first, and %v when asked last", one.id, got, want)
			}
			reached[one.id] = got
		}
	}
	if len(reached) != 3 {
		t.Errorf("there are %d deployments", len(reached))
	}
}

package declared_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const repository = `
-- b/kustomization.yaml --
resources: [cm.yaml]
namespace: two
-- b/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: shared}
-- a/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: one}
-- svc/kustomization.yaml --
resources: [svc.yaml]
-- svc/svc.yaml --
apiVersion: v1
kind: Service
metadata: {name: s, namespace: one}
-- cluster/objects.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: one, labels: {from: context}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bare}
-- .lintel.yaml --
roots: {exclude: [cluster]}
`

// objects returns the objects of a repository, and its renderer.
func objects(t *testing.T, archive string, context ...string) (*declared.Objects, *deploy.Set) {
	t.Helper()
	r := treetest.New(t)
	head := r.Commit(archive)
	trees, _ := checkstest.Trees(t, r, head, "", head)
	return declared.New(trees.Head.Roots, context), trees.Head.Roots
}

func names(list []admission.Object) []string {
	out := []string{}
	for _, o := range list {
		id := admission.IdentityOf(o)
		out = append(out, id.Namespace+"/"+id.Name)
	}
	return out
}

// Look-ups are answered in the order of the roots; the files of the settings come last.
func TestLookUpsAreAnsweredInTheOrderOfRoots(t *testing.T) {
	d, _ := objects(t, repository, "cluster/")
	for _, c := range []struct {
		group, kind, namespace string
		want                   []string
	}{
		{"", "ConfigMap", "", []string{"one/shared", "two/shared", "one/extra", "/bare"}},
		{"", "ConfigMap", "one", []string{"one/shared", "one/extra"}},
		{"", "ConfigMap", "three", []string{}},
		{"", "Namespace", "", []string{"/one"}},
		{"apps", "ConfigMap", "", []string{}},
		{"", "Secret", "", []string{}},
	} {
		if got := names(d.List(t.Context(), c.group, c.kind, c.namespace)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	for _, c := range []struct {
		kind, namespace, name string
		want                  bool
	}{
		{"ConfigMap", "two", "shared", true},
		{"ConfigMap", "two", "extra", false},
		{"ConfigMap", "", "extra", true},
		{"ConfigMap", "one", "bare", false},
		{"ConfigMap", "", "bare", true},
		{"Namespace", "", "one", true},
		{"Namespace", "shop", "one", true},
		{"Namespace", "", "two", false},
	} {
		o, ok := d.Get(t.Context(), "", c.kind, c.namespace, c.name)
		if id := admission.IdentityOf(o); ok != c.want || ok && (id.Name != c.name || c.namespace != "" &&
			id.Namespace != c.namespace && c.kind != "Namespace") {
			t.Errorf("%+v: got %v %v", c, o, ok)
		}
	}
	if w := d.Blind(); len(w) > 0 {
		t.Errorf("%v", w)
	}
	without, _ := objects(t, repository)
	if got := names(without.List(t.Context(), "", "Namespace", "")); len(got) > 0 {
		t.Errorf("what no root and no setting declares: %q", got)
	}
}

// Only roots that may contain the kind are rendered, each once; roots that Rendered got are not rendered again.
func TestOnlyRootsThatMayHaveTheKindAreRendered(t *testing.T) {
	d, renderer := objects(t, repository)
	for i, step := range []struct {
		kind string
		want int
	}{{"Secret", 0}, {"ConfigMap", 1}, {"ConfigMap", 1}, {"Service", 2}} {
		d.List(t.Context(), "", step.kind, "")
		if built, _ := renderer.Renderer.Counts(); built != step.want {
			t.Errorf("step %d: %d kustomizations were built, want %d", i, built, step.want)
		}
	}
	d, renderer = objects(t, repository)
	d.Rendered(roots.Root{Path: "svc"}, []*render.Resource{{Object: admission.Object{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "given", "namespace": "one"}}}})
	if got := names(d.List(t.Context(), "", "Service", "")); !slices.Equal(got, []string{"one/given"}) {
		t.Errorf("got %q", got)
	}
	if built, _ := renderer.Renderer.Counts(); built != 0 {
		t.Errorf("%d kustomizations were built", built)
	}
}

// A look-up for a cluster renders no root that is certainly in another one, and does not report it. One for all clusters does.
func TestRootsOfOtherClustersAreNotRendered(t *testing.T) {
	const archive = `
-- east/kustomization.yaml --
resources: [ns.yaml]
-- east/ns.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop}
-- west/kustomization.yaml --
resources: [ns.yaml, gone.yaml]
-- west/ns.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {in: west}}
`
	d, renderer := objects(t, archive)
	d.Clusters = func(root roots.Root) (list []gitops.Cluster) {
		if root != (roots.Root{}) {
			list = append(list, gitops.Cluster{By: gitops.ByName, Name: root.Path})
		}
		return list
	}
	for i, step := range []struct {
		ctx        context.Context
		has        bool
		built, not int
	}{
		{declared.Within(t.Context(), gitops.Cluster{By: gitops.ByName, Name: "north"}), false, 0, 0},
		{declared.Within(t.Context(), gitops.Cluster{By: gitops.ByName, Name: "east"}), true, 1, 0},
		{t.Context(), false, 2, 1}, // both differ
	} {
		for range 2 {
			_, ok := d.Get(step.ctx, "", "Namespace", "", "shop")
			list := d.List(step.ctx, "", "Namespace", "")
			built, _ := renderer.Renderer.Counts()
			if not := len(d.Blind()); ok != step.has || ok != (len(list) > 0) || built != step.built || not != step.not {
				t.Errorf("step %d: found %t, listed %d, built %d, unseen %d", i, ok, len(list), built, not)
			}
		}
	}
}

// A root that renders only in part declares that part. The problem is listed once, and only after a look-up.
func TestBlindListsRootsThatDoNotRender(t *testing.T) {
	d, _ := objects(t, repository+"-- broken/kustomization.yaml --\nresources: [cm.yaml, gone.yaml]\n"+
		"-- broken/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\n")
	d.List(t.Context(), "", "Service", "")
	if _, ok := d.Get(declared.Quiet(t.Context()), "", "ConfigMap", "", "seen"); !ok {
		t.Error("a quiet look-up finds nothing")
	}
	if w := d.Blind(); len(w) > 0 {
		t.Errorf("nobody asked: %v", w)
	}
	for range 2 {
		if _, ok := d.Get(t.Context(), "", "ConfigMap", "", "seen"); !ok {
			t.Error("what is there of a root declares nothing")
		}
	}
	if w := d.Blind(); len(w) != 1 || w[0].Why.Path != "broken/kustomization.yaml" || !strings.Contains(w[0].Why.Message,
		"gone.yaml") {
		t.Errorf("%v", w)
	}
}

// Concurrent look-ups get the same objects, and each root is rendered once.
func TestConcurrentLookUpsRenderEachRootOnce(t *testing.T) {
	d, renderer := objects(t, repository, "cluster")
	var group sync.WaitGroup
	for range 16 {
		for _, kind := range []string{"ConfigMap", "Service", "Namespace"} {
			group.Go(func() {
				if len(d.List(t.Context(), "", kind, "")) == 0 {
					t.Errorf("there is no %s", kind)
				}
			})
		}
	}
	group.Wait()
	if built, _ := renderer.Renderer.Counts(); built != 2 {
		t.Errorf("%d kustomizations were built", built)
	}
}

// A sample is bounded by roots and by objects, has each object once, and starts with roots that are rendered already.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		name             string
		roots, objects   int
		want, looked, of int
	}{
		{"everything", 10, 100, 3, 3, 3},
		{"no root", 0, 100, 0, 0, 3},
		{"two roots", 2, 100, 2, 2, 3},
		{"one object", 10, 1, 1, 1, 3},
	} {
		d, _ := objects(t, repository)
		list, looked, of := d.Sample(t.Context(), c.roots, c.objects)
		if len(list) != c.want || looked != c.looked || of != c.of {
			t.Errorf("%s: %d objects of %d roots of %d", c.name, len(list), looked, of)
		}
	}
	d, _ := objects(t, repository)
	d.List(t.Context(), "", "Service", "")
	list, looked, _ := d.Sample(t.Context(), 0, 100)
	var sampled []admission.Object
	for _, r := range list {
		sampled = append(sampled, r.Object)
	}
	if looked != 1 || !slices.Equal(names(sampled), []string{"one/s"}) {
		t.Errorf("%d %q", looked, names(sampled))
	}
}

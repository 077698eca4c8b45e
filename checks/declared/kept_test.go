package declared_test

import (
	"reflect"
	"testing"

	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The objects of the tip of the base branch are cached for later checks, and their roots are not rendered again. Other
// roots or other files of the settings give another answer.
func TestObjectsOfTheTipAreCached(t *testing.T) {
	r := treetest.New(t)
	first := r.Tree(r.Commit(repository + `
-- broken/kustomization.yaml --
resources: [missing.yaml, namespace.yaml]
-- broken/namespace.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: broken}
`))
	second := r.Tree(r.Commit("-- svc/service.yaml --\napiVersion: v1\nkind: Service\nmetadata: {name: other}\n"))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(at *tree.Tree, options roots.Options, context ...string) (services, namespaces []admission.Object,
		warnings []declared.Blind, built int) {
		t.Helper()
		set, err := deploy.Open(at, options, &graph.Cache{Disk: disk}, render.Config{Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		tip := declared.New(set, context)
		head := declared.New(set, context)
		head.Since(tip, nil, nil)
		services = head.List(t.Context(), "", "Service", "")
		namespaces = head.List(t.Context(), "", "Namespace", "")
		built, _ = set.Renderer.Counts()
		return services, namespaces, head.Blind(), built
	}
	type answer struct {
		services, namespaces []admission.Object
		warnings             []declared.Blind
	}
	var want answer
	for i, c := range []struct {
		at      *tree.Tree
		options roots.Options
		context []string
		builds  int
	}{
		{at: first, builds: 2},
		{at: first},
		{at: second},
		{at: first, options: roots.Options{Exclude: []string{"broken"}}},
		{at: first, context: []string{"cluster"}},
		{at: first},
	} {
		services, namespaces, warnings, built := ask(c.at, c.options, c.context...)
		if built != c.builds {
			t.Errorf("%d: built %d", i, built)
		}
		got := answer{services, namespaces, warnings}
		if i == 0 {
			want = got
			if len(got.services) == 0 || len(got.namespaces) == 0 || len(got.warnings) == 0 {
				t.Fatalf("found %v", got)
			}
		}
		if same := c.at == first && len(c.context) == 0 && len(c.options.Exclude) == 0; same && !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got\n%v\nwant\n%v", i, got, want)
		}
	}
}

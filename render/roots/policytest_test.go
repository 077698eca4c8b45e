package roots_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Resources of a policy test are not deployed. Policies and other files beside it may be.
func TestPolicyTestResources(t *testing.T) {
	r := treetest.New(t)
	r.Commit(`
-- policies/p/kyverno-test.yaml --
kind: Test
policies: [policy.yaml]
resources: [good.yaml, ../../apps/a.yaml, more, ./]
targetResources: [target.yaml]
-- policies/p/policy.yaml --
kind: ClusterPolicy
-- policies/p/good.yaml --
kind: Pod
-- policies/p/target.yaml --
kind: Pod
-- policies/p/more/x/bad.yaml --
kind: Pod
-- apps/a.yaml --
kind: Pod
`)
	var cache graph.Cache
	at := func() *roots.Index {
		t.Helper()
		now := r.Tree(r.Snapshot())
		g, err := roots.Open(now, roots.Options{}, &cache)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	paths := func(g *roots.Index) (list []string) {
		for _, root := range g.InFolders() {
			list = append(list, root.Path)
		}
		return list
	}
	g := at()
	if got, want := paths(g), []string{"apps", "policies/p"}; !slices.Equal(got, want) {
		t.Errorf("roots: got %q, want %q", got, want)
	}
	if got, want := g.Files(roots.Root{Path: "policies/p", Kind: roots.Folder}),
		[]string{"policies/p/kyverno-test.yaml", "policies/p/policy.yaml"}; !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
	if got := g.Touching([]string{"policies/p/more/x/bad.yaml"}, nil); len(got) != 0 {
		t.Errorf("a fixture reaches %v", got)
	}
	if got := g.PolicyTests().Of("policies/p/more/x/bad.yaml"); got != "policies/p/kyverno-test.yaml" {
		t.Errorf("got %q", got)
	}
	// Changes of the test file are noticed.
	r.Write("policies/p/kyverno-test.yaml", "kind: Test\nresources: [good.yaml]\n")
	g = at()
	if got, want := paths(g), []string{"apps", "policies/p", "policies/p/more/x"}; !slices.Equal(got, want) {
		t.Errorf("roots: got %q, want %q", got, want)
	}
}

// A file that "kyverno test" does not run is not a policy test: the files that it names are deployed and checked.
func TestOnlyPolicyTestsHaveResources(t *testing.T) {
	r := treetest.New(t)
	set := open(t, r.Tree(r.Commit(`
-- p/kyverno-test.yml --
kind: Test
resources: [good.yaml]
-- p/good.yaml --
kind: Pod
`)))
	folder := roots.Root{Path: "p", Kind: roots.Folder}
	want := []string{"p/good.yaml", "p/kyverno-test.yml"}
	if got := set.Files(folder); !slices.Equal(got, want) || set.PolicyTests().Of("p/good.yaml") != "" {
		t.Errorf("files %q, policy test %q", got, set.PolicyTests().Of("p/good.yaml"))
	}
	if got := set.Touching([]string{"p/good.yaml"}, nil); !slices.Equal(got, []roots.Root{folder}) {
		t.Errorf("reaches %v", got)
	}
}

// Files that cluster tests name are test input, if their folder contains nothing else that may be deployed.
func TestFixturesOfClusterTests(t *testing.T) {
	r := treetest.New(t)
	const tests = `
-- e2e/web/chainsaw-test.yaml --
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
spec:
  steps:
  - try:
    - apply: {file: pod.yaml}
    - create: {file: more/job.yaml}
    - assert: {file: ../../apps/app.yaml}
-- e2e/web/pod.yaml --
apiVersion: v1
kind: Pod
-- e2e/web/more/job.yaml --
apiVersion: v1
kind: Pod
-- apps/app.yaml --
apiVersion: v1
kind: Pod
-- kuttl/kuttl-test.yaml --
kind: TestSuite
testDirs: [./cases]
-- kuttl/cases/one/00-install.yaml --
apiVersion: v1
kind: Pod
`
	fixtures := map[string]string{
		"e2e/web/pod.yaml": "e2e/web/chainsaw-test.yaml", "e2e/web/more/job.yaml": "e2e/web/chainsaw-test.yaml",
		"kuttl/cases/one/00-install.yaml": "kuttl/kuttl-test.yaml", "apps/app.yaml": "",
	}
	set := open(t, r.Tree(r.Commit(tests)))
	for p, want := range fixtures {
		if got := set.PolicyTests().Of(p); got != want {
			t.Errorf("%s is of the test %q, want %q", p, got, want)
		}
	}
	for _, dir := range []string{"e2e/web/more", "kuttl/cases/one"} {
		if set.IsRoot(roots.Root{Path: dir, Kind: roots.Folder}) {
			t.Errorf("%s is a root", dir)
		}
	}
	for name, other := range map[string]string{
		"manifests":        "-- e2e/web/deployed.yaml --\nkind: Pod\napiVersion: v1\n-- kuttl/other.yaml --\nkind: Pod\napiVersion: v1\n",
		"a kustomization":  "-- e2e/web/x/kustomization.yaml --\n-- kuttl/cases2/x/kustomization.yaml --\n",
		"a chart":          "-- e2e/web/c/Chart.yaml --\nname: c\n-- kuttl/c/Chart.yaml --\nname: c\n",
		"manifests deeper": "-- e2e/web/a/b/c.yaml --\nkind: Pod\napiVersion: v1\n-- kuttl/x/y.yaml --\nkind: Pod\napiVersion: v1\n",
	} {
		r := treetest.New(t)
		set := open(t, r.Tree(r.Commit(tests+other)))
		for p := range fixtures {
			if got := set.PolicyTests().Of(p); got != "" {
				t.Errorf("beside %s, %s is of the test %q", name, p, got)
			}
		}
	}
}

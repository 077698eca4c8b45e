package builtin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/checkstest"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// found lists what CheckRoots finds in a change from one archive to another, with "old" if the base has it. With an
// empty base, the whole head counts as new. only selects the checks.
func found(t *testing.T, base, head string, clusters func(roots.Root) []string, only settings.Checks) (list []string) {
	t.Helper()
	return foundIn(t, base, nil, head, clusters, only)
}

// foundIn is found for a change that also removes files.
func foundIn(t *testing.T, base string, remove []string, head string, clusters func(roots.Root) []string,
	only settings.Checks) (list []string) {
	t.Helper()
	r := treetest.New(t)
	from := ""
	if base != "" {
		from = r.Commit(base)
	}
	for _, p := range remove {
		r.Git("rm", "-q", p)
	}
	trees, _ := checkstest.Trees(t, r, from, from, r.Commit(head))
	sides := &diff.Sides{Trees: trees, Base: trees.Base.Roots, Head: trees.Head.Roots,
		All: base == ""}
	reached := &Reached{Sides: sides, Clusters: clusters}
	for _, root := range sides.Reached() {
		one, err := sides.Render(t.Context(), root)
		if err != nil || len(one.Head) > 0 {
			t.Fatal(err, one.Head)
		}
		reached.Roots = append(reached.Roots, one)
	}
	pairs, err := CheckRoots(t.Context(), reached, only)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		for _, issue := range p.New.Issues {
			at := p.New.Origin(issue.Pointer)
			line := p.Root.Name() + " " + at.Path + " " + string(issue.Check) + ": " + issue.Message
			if old := p.Earlier(); old != nil && len(old.Issues) > 0 {
				line += " old"
			}
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

func TestDeployedTwice(t *testing.T) {
	flux := func(file, name, path, more string) string {
		return "-- " + file + " --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name +
			", namespace: flux-system}\nspec:\n  path: ./" + path + "\n  prune: true\n  interval: 1m\n" +
			"  sourceRef: {kind: GitRepository, name: flux-system}\n" + more
	}
	object := func(file, kind, meta string) string {
		return "-- " + file + " --\napiVersion: v1\nkind: " + kind + "\nmetadata: {" + meta + "}\n"
	}
	argo := func(name, kind, around string) string {
		return "-- argo/" + name + ".yaml --\napiVersion: argoproj.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name +
			"}\nspec: " + around + "{destination: {namespace: x}, source: {repoURL: https://example.com/r, path: apps/" + name +
			"}}" + strings.Repeat("}", strings.Count(around, "{")-strings.Count(around, "}")) + "\n"
	}
	a := flux("cluster/a.yaml", "a", "apps/a", "") + object("apps/a/ns.yaml", "Namespace", "name: shop")
	b := flux("cluster/b.yaml", "b", "apps/b", "") + object("apps/b/ns.yaml", "Namespace", "name: shop")
	const kustomization = "apps/b apps/base/ns.yaml deployed-twice: apps/a also deploys this object: each overwrites the changes " +
		"of the other"
	const says = "FluxKustomization/flux-system/b apps/b/ns.yaml deployed-twice: FluxKustomization/flux-system/a also deploys this " +
		"object: each overwrites the changes of the other"
	none := func(roots.Root) []string { return []string{""} }
	kustomized := strings.NewReplacer("-- apps/a/ns.yaml --", "-- apps/a/kustomization.yaml --\nresources: [../base]\n"+
		"-- apps/base/kustomization.yaml --\nresources: [ns.yaml]\n-- apps/base/ns.yaml --")
	tenant := func(name, namespace string) string {
		return flux("cluster/"+name+".yaml", name, "apps/"+name, "") + "-- apps/" + name +
			"/kustomization.yaml --\nresources: [../base]\nnamespace: " + namespace + "\n"
	}
	var tenants strings.Builder
	tenants.WriteString("-- apps/base/kustomization.yaml --\nresources: [o.yaml]\n" + object("apps/base/o.yaml", "ConfigMap", "name: o"))
	for i := range maxSharing + 1 {
		name := fmt.Sprintf("t%03d", i)
		tenants.WriteString(tenant(name, name))
	}
	for _, c := range []struct {
		name, base, head string
		clusters         func(roots.Root) []string
		want             []string
	}{
		{"two objects in one folder deploy it", "", a + b, nil, []string{says}},
		{"a second root is added, and the change does not affect the first", a, b, nil, nil},
		{"both roots are added", "-- readme --\n", a + b, nil, []string{says}},
		{"other folders may be of other clusters", "", a + strings.ReplaceAll(b, "cluster/b", "other/b"), none, nil},
		{"the settings say that they are of one", "", a + strings.ReplaceAll(b, "cluster/b", "other/b"),
			func(roots.Root) []string { return []string{"prod"} }, []string{says}},
		{"another cluster by its address", "", a + flux("cluster/b.yaml", "b", "apps/b", "  kubeConfig: {secretRef: {name: x}}\n") +
			object("apps/b/ns.yaml", "Namespace", "name: shop"), nil, nil},
		{"only a generator knows the cluster of one", "", object("apps/a/ns.yaml", "Namespace", "name: shop") +
			object("apps/b/ns.yaml", "Namespace", "name: shop") + argo("a", "Application", "") +
			argo("b", "ApplicationSet", "{generators: [{list: {elements: [{}]}}], template: {metadata: {name: b}, spec: "), nil, nil},
		{"Argo CD deploys both", "", object("apps/a/ns.yaml", "Namespace", "name: shop") +
			object("apps/b/ns.yaml", "Namespace", "name: shop") + argo("a", "Application", "") + argo("b", "Application", ""), nil,
			[]string{"Application/b apps/b/ns.yaml deployed-twice: Application/a also deploys this object: each " +
				"overwrites the changes of the other"}},
		{"one Application in two files", "", object("apps/a/ns.yaml", "Namespace", "name: shop") +
			object("apps/b/ns.yaml", "Namespace", "name: shop") + argo("a", "Application", "") +
			strings.Replace(argo("b", "Application", ""), "{name: b}", "{name: a}", 1), nil, nil},
		{"no object deploys them", "", object("apps/a/ns.yaml", "Namespace", "name: shop") +
			object("apps/b/ns.yaml", "Namespace", "name: shop"), nil, nil},
		{"no namespace", "", strings.ReplaceAll(a+b, "kind: Namespace", "kind: ConfigMap"), nil, nil},
		{"an annotation says that it is shared", "", a + flux("cluster/b.yaml", "b", "apps/b", "") + object("apps/b/ns.yaml", "Namespace",
			"name: shop, annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}"), nil, nil},
		{"a base that another root includes, too", kustomized.Replace(a), flux("cluster/b.yaml", "b", "apps/b", "") +
			"-- apps/b/kustomization.yaml --\nresources: [../base]\n", nil,
			[]string{kustomization}},
		{"a base that many roots put into their own namespaces, and one into the same", tenants.String() + tenant("z", "shop"),
			tenant("b", "shop"), nil, []string{"apps/b apps/base/o.yaml deployed-twice: apps/z also deploys this " +
				"object: each overwrites the changes of the other"}},
		{"pre-existing, and the object is edited", a + b, object("apps/b/ns.yaml", "Namespace", "name: shop, labels: {a: b}") +
			object("apps/a/ns.yaml", "Namespace", "name: shop, labels: {a: b}"), nil, []string{says + " old"}},
		{"pre-existing, and another object is edited", a + b + object("apps/b/o.yaml", "ConfigMap", "name: o"),
			object("apps/b/o.yaml", "ConfigMap", "name: other"), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := found(t, c.base, c.head, c.clusters, settings.Checks{})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

package checks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// between checks a change of files, with differences. It returns that report, and the report of the differences alone.
func between(t testing.TB, base, head sources) (with, alone *report.Report) {
	t.Helper()
	r := treetest.New(t)
	before := r.Commit(base.archive())
	r.Git("rm", "-rq", "--ignore-unmatch", ".")
	after := r.Commit(head.archive())
	change := report.Change{Base: before, Rules: before, Head: after, Repository: []string{ownURL},
		Branches: []string{"main"}, Differences: true}
	with = check(t, r, change)
	change.OnlyDifferences = true
	return with, check(t, r, change)
}

// shown lists differences in short: their resource, and the lines that differ with their places.
func shown(r *report.Report) []string {
	list := []string{}
	for _, d := range r.Differences {
		head := fmt.Sprintf("%s %s in %s", d.Operation, d.Resource, strings.Join(d.Roots, ", "))
		if len(d.Clusters) > 0 {
			head += " of " + strings.Join(d.Clusters, ", ")
		}
		list = append(list, head)
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				if l.Sign == " " {
					continue
				}
				at := "?"
				if o := l.Origin; o != nil {
					at = fmt.Sprintf("%s:%d", o.Path, o.StartLine)
				}
				if (l.Sign == "-") != (l.Origin != nil && l.Origin.Side == report.Base) {
					at += " of the wrong side"
				}
				list = append(list, l.Sign+strings.TrimSpace(l.Text)+" "+at)
			}
		}
	}
	return list
}

const webFile = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        image: %s
    metadata: {labels: {app: web}}
  selector: {matchLabels: {app: web}}
`

func TestDifferences(t *testing.T) {
	named := func(image string) string {
		return "resources: [web.yaml]\nimages:\n- name: web\n  newName: " + image + "\n  newTag: v1\n"
	}
	for name, tc := range map[string]struct {
		base, head sources
		want       []string
		relabeled  int
	}{
		"a comment changes nothing": {base: sources{"a/cm.yaml": keyed("a", "x")}, head: sources{"a/cm.yaml": keyed("a", "x") + "# new\n"},
			want: []string{}},
		"defaults of the API server are not shown": {
			base: sources{"a/web.yaml": fmt.Sprintf(webFile, "web:1")},
			head: sources{"a/web.yaml": fmt.Sprintf(webFile, "web:2")},
			want: []string{"UPDATE Deployment web in a", "-- image: web:1 a/web.yaml:9", "+- image: web:2 a/web.yaml:9"},
		},
		"only the differing line of a text is shown, with its place": {
			base: sources{"a/kustomization.yaml": named("acme/web"),
				"a/web.yaml": fmt.Sprintf(webFile, "web:0")},
			head: sources{"a/kustomization.yaml": named("other/web"),
				"a/web.yaml": fmt.Sprintf(webFile, "web:0")},
			want: []string{"UPDATE Deployment web in a", "-- image: acme/web:v1 a/kustomization.yaml:4",
				"+- image: other/web:v1 a/kustomization.yaml:4"},
		},
		"one patch is added and another removed": {
			base: sources{"a/kustomization.yaml": "resources: [web.yaml]\n", "a/web.yaml": fmt.Sprintf(webFile, "web:0")},
			head: sources{"a/kustomization.yaml": "resources: [web.yaml]\npatches: [{path: p.yaml}]\n",
				"a/web.yaml": fmt.Sprintf(webFile, "web:0"),
				"a/p.yaml":   "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n"},
			want: []string{"UPDATE Deployment web in a", "+replicas: 3 a/p.yaml:5"},
		},
		"created and deleted": {
			base: sources{"a/cm.yaml": keyed("a", "x")}, head: sources{"a/cm.yaml": keyed("b", "x")},
			want: []string{
				"DELETE ConfigMap a in a", "-apiVersion: v1 a/cm.yaml:1", "-data: a/cm.yaml:4", "-key: x a/cm.yaml:4",
				"-kind: ConfigMap a/cm.yaml:2", "-metadata: a/cm.yaml:3", "-name: a a/cm.yaml:3",
				"CREATE ConfigMap b in a", "+apiVersion: v1 a/cm.yaml:1", "+data: a/cm.yaml:4", "+key: x a/cm.yaml:4",
				"+kind: ConfigMap a/cm.yaml:2", "+metadata: a/cm.yaml:3", "+name: b a/cm.yaml:3"},
		},
		"a changed version label only": {
			base: sources{"a/cm.yaml": keyed("a", "x") + "---\n" + strings.Replace(keyed("b", "x"), "name: b",
				"name: b, labels: {app.kubernetes.io/version: '1'}", 1)},
			head: sources{"a/cm.yaml": keyed("a", "x") + "---\n" + strings.Replace(keyed("b", "x"), "name: b",
				"name: b, labels: {app.kubernetes.io/version: '2'}", 1)},
			want: []string{}, relabeled: 1,
		},
		"overlays of two clusters": {
			base: sources{report.SettingsPath: "clusters:\n  one: {roots: [one]}\n  two: {roots: [two]}\n",
				"base/kustomization.yaml": "resources: [cm.yaml]\n", "base/cm.yaml": keyed("a", "x"),
				"one/kustomization.yaml": "resources: [../base]\n", "two/kustomization.yaml": "resources: [../base]\n"},
			head: sources{report.SettingsPath: "clusters:\n  one: {roots: [one]}\n  two: {roots: [two]}\n",
				"base/kustomization.yaml": "resources: [cm.yaml]\n", "base/cm.yaml": keyed("a", "new"),
				"one/kustomization.yaml": "resources: [../base]\n", "two/kustomization.yaml": "resources: [../base]\n"},
			want: []string{"UPDATE ConfigMap a in one, two of one, two", "-key: x base/cm.yaml:4",
				"+key: new base/cm.yaml:4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			with, alone := between(t, tc.base, tc.head)
			if d := cmp.Diff(tc.want, shown(with)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(with.Differences, alone.Differences); d != "" {
				t.Errorf("without the check:\n%s", d)
			}
			if with.Relabeled != tc.relabeled || alone.Relabeled != tc.relabeled || len(alone.Errors) > 0 {
				t.Errorf("%d and %d relabeled, want %d; %v", with.Relabeled, alone.Relabeled, tc.relabeled, alone.Errors)
			}
		})
	}
}

func keyed(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {key: " + value + "}\n"
}

// A check without requested differences has none, and its JSON has no such field.
func TestDifferencesAreOnlyComputedOnRequest(t *testing.T) {
	r := treetest.New(t)
	before := r.Commit("-- a/cm.yaml --\n" + keyed("a", "x"))
	after := r.Commit("-- a/cm.yaml --\n" + keyed("a", "new"))
	rep := check(t, r, report.Change{Base: before, Rules: before, Head: after})
	data, err := json.Marshal(rep)
	if err != nil || strings.Contains(string(data), "ifferences") || strings.Contains(string(data), "relabeled") {
		t.Errorf("%s %v", data, err)
	}
	if rep := check(t, r, report.Change{Rules: after, Head: after, All: true, Differences: true}); rep.Differences != nil {
		t.Errorf("%v", shown(rep))
	}
}

// Differences beyond the limit are counted. In-place changes are listed first, and every listed line has its place.
func TestDifferencesAreBounded(t *testing.T) {
	large := func(n int, value string) string {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n")
		for i := range n {
			fmt.Fprintf(&b, "  k%04d: %s\n", i, value)
		}
		return b.String()
	}
	base, head := sources{"z/cm.yaml": keyed("small", "x")}, sources{"z/cm.yaml": keyed("small", "y")}
	for i := range 14 {
		head[fmt.Sprintf("a%02d/cm.yaml", i)] = strings.Replace(large(500, "x"), "big", fmt.Sprint("big-", i), 1)
	}
	base["b/cm.yaml"], head["b/cm.yaml"] = large(300, "x"), large(300, "y")
	_, rep := between(t, base, head)
	lines, leftOut := 0, 0
	for _, d := range rep.Differences {
		own := 0
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				own++
				if l.Sign != " " && l.Origin == nil {
					t.Fatalf("%s: no place for %q", d.Resource, l.Text)
				}
			}
		}
		if own > 400 || own+d.LeftOut < 6 {
			t.Errorf("%s: %d lines and %d left out", d.Resource, own, d.LeftOut)
		}
		if d.Resource.Name == "small" && d.LeftOut > 0 {
			t.Error("what is updated is left out for what is created")
		}
		lines, leftOut = lines+own, leftOut+d.LeftOut
	}
	if len(rep.Differences) != 16 || lines != 5000 || lines+leftOut != 14*505+605+7 {
		t.Errorf("%d differences, %d lines, %d left out", len(rep.Differences), lines, leftOut)
	}
	if _, again := between(t, base, head); !slices.Equal(shown(again), shown(rep)) {
		t.Error("another time it is something else")
	}
}

// BenchmarkDifferences measures what it costs to show a change of 200 resources: of one folder, of a base in 200
// overlays, and of a chart.
func BenchmarkDifferences(b *testing.B) {
	const n = 200
	folder := func(tag string) sources {
		files := sources{}
		for i := range n {
			files[fmt.Sprintf("apps/web-%d.yaml", i)] = deployment(i, tag)
		}
		return files
	}
	overlays := func(tag string) sources {
		files := sources{"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment(0, tag)}
		for i := range n {
			files[fmt.Sprintf("apps/%d/kustomization.yaml", i)] =
				fmt.Sprintf("resources: [../../base]\nnamespace: n%d\n", i)
		}
		return files
	}
	chart := func(tag string) sources {
		return sources{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"shop/values.yaml": "tag: " + tag + "\n",
			"shop/templates/all.yaml": fmt.Sprintf("{{ range $i := until %d }}\n---\n%s{{ end }}\n", n, strings.NewReplacer(
				"app-7", "app-{{ $i }}", "1.2.3", "{{ $.Values.tag }}").Replace(deployment(7, "1.2.3")))}
	}
	added := func(tag string) sources {
		if tag == "1.0.0" {
			return sources{"README.md": "\n"}
		}
		return chart(tag)
	}
	for name, files := range map[string]func(tag string) sources{"folder": folder, "overlays": overlays, "chart": chart,
		"new chart": added} {
		b.Run(name, func(b *testing.B) {
			r := treetest.New(b)
			before := r.Commit(files("1.0.0").archive())
			after := r.Commit(files("1.1.0").archive())
			for b.Loop() {
				rep := check(b, r, report.Change{Base: before, Rules: before, Head: after, Differences: true,
					OnlyDifferences: true})
				if len(rep.Differences) != n || len(rep.Errors) > 0 {
					b.Fatalf("%d differences, %v", len(rep.Differences), rep.Errors)
				}
			}
		})
	}
}

func TestRootChangesCountEachRoot(t *testing.T) {
	base, head := sources{}, sources{}
	for i := range 120 {
		dir := fmt.Sprintf("root-%03d/", i)
		base[dir+"kustomization.yaml"], head[dir+"kustomization.yaml"] = "resources: [web.yaml]\n", "resources: [web.yaml]\n"
		base[dir+"web.yaml"], head[dir+"web.yaml"] = fmt.Sprintf(webFile, "web:1"), fmt.Sprintf(webFile, "web:2")
	}
	head["root-000/kustomization.yaml"] = "resources: [web.yaml, added.yaml]\n"
	head["root-000/added.yaml"] = keyed("added", "x")
	base["root-001/kustomization.yaml"] = "resources: [web.yaml, removed.yaml]\n"
	base["root-001/removed.yaml"] = keyed("removed", "x")
	with, alone := between(t, base, head)
	for _, r := range []*report.Report{with, alone} {
		if len(r.RootChanges) != 120 {
			t.Fatalf("%d roots", len(r.RootChanges))
		}
		for i, want := range []report.RootChange{{Added: 1, Changed: 1}, {Changed: 1, Removed: 1}, {Changed: 1}} {
			got := r.RootChanges[i]
			if got.Root != fmt.Sprintf("root-%03d", i) || got.Added != want.Added || got.Changed != want.Changed || got.Removed != want.Removed ||
				len(got.Images) != 1 {
				t.Errorf("%+v", got)
			}
		}
	}
}

// What an object deploys is one root of another path, and one row.
func TestRootChangesAreOneForEachName(t *testing.T) {
	application := func(path string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n" +
			"  destination: {namespace: shop}\n  source: {repoURL: " + ownURL + ", path: " + path + "}\n"
	}
	files := sources{"a/cm.yaml": keyed("a", "x"), "b/cm.yaml": keyed("b", "x")}
	with, _ := between(t, files.with(sources{"apps/web.yaml": application("a")}), files.with(sources{"apps/web.yaml": application("b")}))
	var got []string
	for _, c := range with.RootChanges {
		got = append(got, fmt.Sprintf("%s +%d ~%d -%d", c.Root, c.Added, c.Changed, c.Removed))
	}
	if diff := cmp.Diff([]string{"Application/argocd/web +1 ~0 -1", "apps +0 ~1 -0"}, got); diff != "" {
		t.Error(diff)
	}
}

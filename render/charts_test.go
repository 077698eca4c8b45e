package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The target of a symlink in a chart is part of the chart. A change of it reaches the chart's releases, and neither a
// cached rendering nor a cached chart from before the change is used. Places are in the target, which people edit.
func TestChartOfSymlinks(t *testing.T) {
	const link = `
apiVersion: v1
kind: ConfigMap
metadata: {name: linked}
data: {mode: MODE, from: {{ .Values.from }}}
`
	for name, c := range map[string]struct {
		links  [][2]string // symlink target, symlink name
		change string
	}{
		"link to a template":  {[][2]string{{"../../shared/linked.yaml", "chart/templates/linked.yaml"}}, "shared/linked.yaml"},
		"link to a folder":    {[][2]string{{"../../shared", "chart/templates/all"}}, "shared/linked.yaml"},
		"link through a link": {[][2]string{{"../../b", "chart/templates/all"}, {"../shared", "b/more"}}, "shared/linked.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			for _, f := range txtar.Parse([]byte(fluxRepo)).Files {
				r.Write(f.Name, string(f.Data))
			}
			r.Remove("flux/app.yaml") // Flux leaves symlinks out
			r.Write("argocd/app.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec:\n"+
				"  source: {repoURL: https://git.example.com/fleet, path: chart}\n  destination: {namespace: shop}\n")
			r.Write("chart/values.yaml", "from: here\nreplicas: 1\nimage: nginx\n")
			for _, l := range c.links {
				r.Symlink(l[0], l[1])
			}
			disk, err := env.OpenDisk(t.TempDir(), 0)
			if err != nil {
				t.Fatal(err)
			}
			memory := &render.Cache{Disk: disk}
			var sets []*deploy.Set
			for _, mode := range []string{"slow", "fast"} {
				r.Write("shared/linked.yaml", strings.Replace(link, "MODE", mode, 1))
				set, err := deploy.Open(r.Tree(r.Snapshot()), roots.Options{Repository: []string{"https://git.example.com/fleet"}},
					&graph.Cache{}, render.Config{Cache: memory})
				if err != nil {
					t.Fatal(err)
				}
				sets = append(sets, set)
			}
			base, head := sets[0], sets[1]
			reached := ""
			for _, root := range deploy.Between(sets[0], sets[1], []string{c.change}, nil) {
				reached += root.Name() + "\n"
				if root.Kind != roots.Application {
					continue
				}
				for i, at := range []*deploy.Set{base, head, base} {
					out, problems, err := at.Render(t.Context(), root)
					if err != nil || len(problems) > 0 {
						t.Fatal(problems, err)
					}
					want := fmt.Sprint(map[string]any{"mode": []string{"slow", "fast", "slow"}[i], "from": "here"})
					if got := fmt.Sprint(find(t, out, "ConfigMap linked").Object["data"]); got != want {
						t.Errorf("rendering %d: got %s, want %s", i, got, want)
					}
					if p := find(t, out, "ConfigMap linked").Origin("/data/mode"); p.Path != "shared/linked.yaml" || p.StartLine != 5 {
						t.Errorf("rendering %d: got %s:%d, want the file that the link leads to", i, p.Path, p.StartLine)
					}
				}
			}
			if !strings.Contains(reached, "Application") {
				t.Errorf("the change reaches %s", reached)
			}
		})
	}
}

// Charts that depend on each other in a circle, or on too many charts, are refused.
func TestChartsThatDependOnCharts(t *testing.T) {
	chart := func(name string, on ...string) string {
		text := "-- " + name + "/Chart.yaml --\napiVersion: v2\nname: " + strings.ReplaceAll(name, "/", "-") +
			"\nversion: 1.0.0\n"
		if len(on) > 0 {
			text += "dependencies:\n"
		}
		for i, dir := range on {
			text += fmt.Sprintf("- name: %s\n  alias: x%d\n  version: 1.0.0\n  repository: file://../%s\n",
				strings.ReplaceAll(dir, "/", "-"), i, dir)
		}
		return text + "-- " + name + "/templates/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
			"-{{ .Chart.Name }}}\n"
	}
	twice := "" // each chart depends twice on the next
	for i := range 12 {
		next := fmt.Sprintf("d%d", i+1)
		name := fmt.Sprintf("d%d", i)
		if i == 0 {
			name = "chart"
		}
		twice += chart(name, next, next)
	}
	twice += chart("d12")
	for name, c := range map[string]struct{ charts, want string }{
		"circle of charts": {chart("chart", "b") + chart("b", "c") + chart("c", "b"),
			"depends on itself, through b/Chart.yaml"},
		"chart that depends on itself":           {chart("chart", "chart"), "depends on itself, through chart/Chart.yaml"},
		"two charts with the same dependency":    {chart("chart", "b", "c") + chart("b", "c") + chart("c"), ""},
		"number of charts doubles at each level": {twice, "includes more than 500 charts, repeated ones counted each time"},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+"\n"+c.charts, render.Config{})
			got := r.messages()
			if c.want == "" && got != "" || !strings.Contains(got, "the chart "+c.want) && c.want != "" {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// A block scalar at the end of a manifest ends with a line break, because Helm adds one to each manifest.
func TestBlockScalarAtTheEnd(t *testing.T) {
	const end = "  text: |\n    one\n    two\n{{- \"\" -}}\n"
	r := renderReleases(t, fluxRepo+"-- chart/templates/end.yaml --\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: end}\ndata:\n"+end+"-- chart/templates/hook-end.yaml --\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\ndata:\n"+end, render.Config{})
	for _, name := range []string{"ConfigMap end", "ConfigMap hook"} {
		if got := find(t, r.one, name).Object["data"].(map[string]any)["text"]; got != "one\ntwo\n" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

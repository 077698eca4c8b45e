package render_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// The result for a chart that could not be rendered is cached only as long as it is valid.
func TestCachedChartInflationEqualsRendered(t *testing.T) {
	render := func(w *world, s *remote.Sources, disk *env.Disk) []doc.Error {
		set, err := deploy.Open(w.repo.Tree("HEAD"), roots.Options{}, &graph.Cache{}, render.Config{Sources: s, Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		r := set
		_, problems, err := r.Render(t.Context(), roots.Root{Path: "app"})
		if err != nil {
			t.Fatal(err)
		}
		return problems
	}
	open := func() *env.Disk {
		disk, err := env.OpenDisk(t.TempDir(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return disk
	}
	const app = "-- app/kustomization.yaml --\nresources: [own.yaml]\nhelmCharts:\n- {name: local, releaseName: r}\n" +
		"-- app/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"
	t.Run("chart is added to its folder", func(t *testing.T) {
		w, disk := newWorld(t, host, app), open()
		if got := render(w, nil, disk); len(got) != 1 || !got[0].Unknown {
			t.Fatal(got)
		}
		for _, f := range txtar.Parse([]byte(inflatedChart)).Files {
			if strings.HasPrefix(f.Name, "app/charts/") {
				w.repo.Write(f.Name, string(f.Data))
			}
		}
		w.repo.Snapshot()
		if got := render(w, nil, disk); len(got) > 0 {
			t.Error(got)
		}
	})
	for name, c := range map[string]struct{ values, before, after string }{
		"values are added to the chart":  {"", "", "-- app/charts/local/values.yaml --\n{}\n"},
		"values of the chart are mended": {"", "-- app/charts/local/values.yaml --\n[\n", "-- app/charts/local/values.yaml --\n{}\n"},
		"a dependency is added": {"", "-- app/charts/local/values.yaml --\n{}\n-- app/charts/local/Chart.yaml --\n" +
			"{apiVersion: v2, name: local, version: 1.0.0, dependencies: [{name: lib, version: 1.0.0, repository: 'file://../../../lib'}]}\n",
			"-- lib/Chart.yaml --\n{apiVersion: v2, name: lib, version: 1.0.0}\n"},
		"a link to values leads to nowhere":       {", valuesFile: v.yaml", "-- app/v.yaml --\n{}\n", ""},
		"a link of the chart leads to a new file": {", valuesFile: v.yaml", "-- app/v.yaml --\n{}\n", "-- to/new.yaml --\n{\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w, disk := newWorld(t, host, strings.Replace(app, "releaseName: r", "releaseName: r"+c.values, 1)+
				"-- app/charts/local/Chart.yaml --\n{apiVersion: v2, name: local, version: 1.0.0}\n-- to/v.yaml --\n{}\n"+c.before), open()
			if c.after == "" {
				w.repo.Symlink("../to/v.yaml", "app/v.yaml")
			} else if c.values != "" {
				w.repo.Symlink("../../../../to/new.yaml", "app/charts/local/templates/c.yaml")
			}
			w.repo.Snapshot()
			before := fmt.Sprint(render(w, nil, disk))
			if c.after == "" {
				w.repo.Remove("to/v.yaml")
			}
			w.repo.Commit(c.after)
			after, fresh := fmt.Sprint(render(w, nil, disk)), fmt.Sprint(render(w, nil, open()))
			if after != fresh || before == after {
				t.Errorf("got %s and then %s, want %s", before, after, fresh)
			}
		})
	}
	t.Run("store is readable again", func(t *testing.T) {
		w, disk := newWorld(t, host, strings.Replace(app, "local", "web, version: 1.2.3, repo: "+host+"/charts", 1)+
			inflatedChart), open()
		w.fetch(remote.Want{Kind: remote.Chart, URL: host + "/charts", Name: "web", Ref: "1.2.3"})
		broken := remote.New(w.lock, func(string) (*tree.Tree, error) { return nil, errors.New("no such device") })
		if got := render(w, broken, disk); len(got) != 1 || !got[0].Unknown {
			t.Fatal(got)
		}
		if got := render(w, w.sources(), disk); len(got) > 0 {
			t.Error(got)
		}
	})
}

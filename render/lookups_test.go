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

// Look-ups of charts return what the repository declares. A look-up of something else is noted.
func TestLookup(t *testing.T) {
	text := func(template string) string {
		return "\n-- chart/templates/asks.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: asks}\ndata:\n  got: " +
			template + "\n"
	}
	chart := func(expression string) string { return text("{{ " + expression + " | quote }}") }
	const mode, size = `(lookup "v1" "ConfigMap" "shop" "settings").data.mode`,
		`(lookup "v1" "ConfigMap" "shop" "settings") | len`
	manifest := func(file, namespace, mode string) string {
		return "\n-- " + file + " --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings" + namespace +
			"}\ndata: {mode: " + mode + "}\n"
	}
	const none = "looks up ConfigMap shop/settings in the cluster (lookup), which nothing in this repository declares"
	for name, c := range map[string]struct {
		more, want, note string
	}{
		"object that is not declared": {chart(`(lookup "v1" "ConfigMap" "shop" "settings") | toString`), "map[]", none},
		"object in a manifest":        {chart(mode) + manifest("apps/a.yaml", ", namespace: shop", "fast"), "fast", ""},
		"object in another namespace": {chart(size) + manifest("apps/a.yaml", ", namespace: x", "fast"), "0", none},
		"object without a namespace":  {chart(mode) + manifest("apps/a.yaml", "", "fast"), "fast", ""},
		"object in a kustomization": {chart(mode) + manifest("apps/a.yaml", "", "fast") + "-- apps/kustomization.yaml --\n" +
			"resources: [a.yaml]\nnamespace: shop\n", "fast", ""},
		"kustomization for another namespace": {chart(size) +
			manifest("apps/a.yaml", "", "fast") + "-- apps/kustomization.yaml --\nresources: [a.yaml]\nnamespace: other\n", "0",
			none},
		"object of a generator": {chart(mode) + "-- apps/kustomization.yaml --\nnamespace: shop\n" +
			"generatorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: settings, literals: [mode=slow]}]\n",
			"slow", ""},
		"object declared twice alike": {chart(mode) + manifest("a/a.yaml", ", namespace: shop", "x") +
			manifest("b/a.yaml", ", namespace: shop", "x"), "x", ""},
		"object declared twice differently": {chart(size) + manifest("a/a.yaml", ", namespace: shop", "x") +
			manifest("b/a.yaml", ", namespace: shop", "y"), "0", none},
		"list of objects": {text(`"{{ range (lookup "v1" "ConfigMap" "" "").items }}{{ .metadata.name }} {{ end }}"`) +
			manifest("a/a.yaml", ", namespace: shop", "x"), "settings ", "all of kind ConfigMap in the cluster " +
			"(lookup): it is checked with those"},
		"encrypted object": {chart(`(lookup "v1" "Secret" "shop" "s") | len`) + "-- a/s.yaml --\napiVersion: v1\nkind: Secret\n" +
			"metadata: {name: s, namespace: shop}\ndata: {a: ENC}\nsops: {mac: x}\n", "0", "looks up Secret shop/s " +
			"in the cluster"},
		"chart changes the returned object": {text(`{{ $_ := set (lookup "v1" "ConfigMap" "shop" "settings") "data" 1 }}{{ `+mode+` }}`) +
			manifest("apps/a.yaml", ", namespace: shop", "fast"), "fast", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderReleases(t, fluxRepo+c.more, render.Config{})
			if got := r.messages(); got != "" {
				t.Fatal(got)
			}
			data, _ := find(t, r.one, "ConfigMap asks").Object["data"].(map[string]any)
			if got := fmt.Sprint(data["got"]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			notes := fmt.Sprint(r.one.Notes(t.Context()))
			if c.note == "" && notes != "[]" || !strings.Contains(notes, c.note) {
				t.Errorf("noted is %s, want %s", notes, c.note)
			}
		})
	}
}

// A rendering from the cache is used only while its look-ups return the same.
func TestCachedLookupIsAsked(t *testing.T) {
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	repo := treetest.New(t)
	for _, f := range txtar.Parse([]byte(fluxRepo + "-- chart/templates/asks.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
		"metadata: {name: asks}\ndata: {got: {{ dig \"data\" \"mode\" \"none\" (lookup \"v1\" \"ConfigMap\" \"shop\" " +
		"\"settings\") }}}\n")).Files {
		repo.Write(f.Name, string(f.Data))
	}
	for i, mode := range []string{"", "slow", "fast", "fast"} {
		if mode != "" {
			repo.Write("apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"+
				"data: {mode: "+mode+"}\n")
		}
		repo.Write("other.txt", fmt.Sprint(i))
		set, err := deploy.Open(repo.Tree(repo.Snapshot()), roots.Options{Repository: []string{"https://git.example.com/fleet"}},
			&graph.Cache{}, render.Config{Cache: &render.Cache{Disk: disk}})
		if err != nil {
			t.Fatal(err)
		}
		r := set
		root, err := set.Find("HelmRelease/shop/app")
		if err != nil {
			t.Fatal(err)
		}
		out, problems, err := r.Render(t.Context(), root)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if mode == "" {
			mode = "none"
		}
		data, _ := find(t, out, "ConfigMap asks").Object["data"].(map[string]any)
		if built, _ := r.Renderer.Counts(); data["got"] != mode || (built > 0) != (i < 3) {
			t.Errorf("time %d: got %v, want %s; %d built", i, data["got"], mode, built)
		}
	}
}

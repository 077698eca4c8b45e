package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func deployment(name string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec: {replicas: 1}\n"
}

// Entries that cannot be built are left out, together with entries that depend on them. Everything else is rendered as
// it is deployed.
func TestBrokenEntriesAreOmitted(t *testing.T) {
	const remote = "https://github.com/example/base//deploy?ref=v1"
	own := "-- app/a.yaml --\n" + deployment("a") + "-- app/b.yaml --\n" + deployment("b")
	kust := func(text string) string { return own + "-- app/kustomization.yaml --\n" + text }
	for _, c := range []struct {
		name, files string
		want        []string // the rendered resources; nil: nothing can be rendered
		problems    []string // line, and part of the message; a leading "?" means unknown rather than wrong
	}{
		{"remote base", kust("resources:\n- " + remote + "\n- a.yaml\nnamePrefix: x-\n"), []string{"x-a"},
			[]string{`?2 ` + remote}},
		{"only a remote base", kust("resources:\n- " + remote + "\n"), []string{}, []string{`?2 ` + remote}},
		{"remote base at the end", kust("namePrefix: x-\nresources:\n- a.yaml\n- b.yaml\n- " + remote), []string{"x-a", "x-b"},
			[]string{`?5 ` + remote}},
		{"in a flow list", kust("resources: [a.yaml, \"" + remote + "\"]\nnamePrefix: x-\n"), []string{"x-a"},
			[]string{`?1 ` + remote}},
		{"JSON", kust(`{"resources": ["a.yaml", "` + remote + `"], "namePrefix": "x-"}`), []string{"x-a"},
			[]string{`?1 ` + remote}},
		{"entry on the line after its dash", kust("resources:\n-\n  " + remote + "\n- a.yaml\n"), []string{"a"}, []string{`?3 ` + remote}},
		{"missing file", kust("resources:\n- a.yaml\n- gone.yaml\n- b.yaml\n"), []string{"a", "b"},
			[]string{`3 "gone.yaml" does not exist`}},
		{"missing folder", kust("resources:\n- a.yaml\n- ../gone\n"), []string{"a"}, []string{`3 "../gone" does not exist`}},
		{"folder without kustomization", kust("resources:\n- a.yaml\n- ../gone\n") + "-- gone/README --\nx\n", []string{"a"},
			[]string{`3 has no kustomization`}},
		{"broken file", kust("resources:\n- a.yaml\n- bad.yaml\n") + "-- app/bad.yaml --\nkind: [\n", []string{"a"},
			[]string{`1 not valid YAML`}},
		{"broken base", kust("resources:\n- a.yaml\n- ../bad\n") + "-- bad/kustomization.yaml --\nresources: [\n",
			[]string{"a"}, []string{`1 not valid YAML`}},
		{"base that does not build", kust("resources:\n- a.yaml\n- ../bad\n") +
			"-- bad/c.yaml --\n" + deployment("c") + "-- bad/kustomization.yaml --\nresources: [c.yaml, c.yaml]\n",
			[]string{"a"}, []string{`1 is listed twice`}},
		{"missing component", kust("resources:\n- a.yaml\ncomponents:\n- ../gone\nnamePrefix: x-\n"), []string{"x-a"},
			[]string{`4 "../gone" does not exist`}},
		{"missing patch", kust("resources:\n- a.yaml\npatches:\n- path: gone.yaml\n- patch: |\n    apiVersion: apps/v1\n" +
			"    kind: Deployment\n    metadata: {name: a}\n    spec: {paused: true}\n"), []string{"a paused"},
			[]string{`4 "gone.yaml" does not exist`}},
		{"missing data", kust("resources:\n- a.yaml\nconfigMapGenerator:\n- name: c\n  files: [gone.txt]\n"), []string{"a"},
			[]string{`5 "gone.txt" does not exist`}},
		{"chart", kust("resources:\n- a.yaml\nhelmCharts:\n- name: c\n  repo: https://charts.example.org\n"), []string{"a"},
			[]string{`?4 helm`}},
		{"program", kust("resources:\n- a.yaml\ngenerators:\n- gen.yaml\n") +
			"-- app/gen.yaml --\napiVersion: example.org/v1\nkind: Gen\nmetadata: {name: g}\n", []string{"a"},
			[]string{`?1 plugin "Gen"`}},
		{"inline configuration of a program", kust("resources:\n- a.yaml\ngenerators:\n- |\n  apiVersion: example.org/v1\n" +
			"  kind: Gen\n  metadata: {name: g}\n"), []string{"a"}, []string{`?4 plugin "Gen"`}},
		{"remote base of a base", "-- over/kustomization.yaml --\nresources: [../app]\nnameSuffix: -x\n" +
			strings.ReplaceAll(kust("resources:\n- "+remote+"\n- a.yaml\n"), "-- app/k", "-- app/k"), nil, nil},
		{"patches of missing objects", kust("resources:\n- a.yaml\n- "+remote+"\nreplicas:\n- {name: there, count: 3}\n"+
			"patches:\n- path: p.yaml\n- target: {kind: Deployment, name: there}\n  patch: |\n"+
			"    - {op: remove, path: /spec/replicas}\n"+
			"patchesStrategicMerge:\n- |-\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: there}\n"+
			"configMapGenerator:\n- {name: there, behavior: merge, literals: [a=b]}\nnamePrefix: x-\n") +
			"-- app/p.yaml --\n" + deployment("there"), []string{"x-a"}, []string{`?3 ` + remote}},
		{"patches that may change other objects", kust("resources:\n- a.yaml\n- " + remote + "\npatches:\n- patch: |\n" +
			"    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: a}\n    spec: {paused: true}\n"),
			[]string{"a paused"}, []string{`?3 ` + remote}},
		{"replacement from a missing object", kust("resources:\n- a.yaml\n- " + remote + "\nreplacements:\n" +
			"- source: {kind: ConfigMap, name: there, fieldPath: data.a}\n  targets:\n  - select: {kind: Deployment}\n" +
			"    fieldPaths: [metadata.namespace]\n"), nil, []string{`?3 ` + remote}},
		{"entry listed twice", kust("resources:\n- a.yaml\n- a.yaml\n"), nil, []string{`3 is listed twice`}},
		{"base that includes itself", kust("resources:\n- a.yaml\n- ../app\n"), nil, []string{`3 includes itself`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			files, root := c.files, "app"
			if strings.HasPrefix(files, "-- over/") {
				root, c.want, c.problems = "over", []string{"a-x"}, []string{`?2 ` + remote}
			}
			set, err := deploy.Open(r.Tree(r.Commit(files)), roots.Options{}, &graph.Cache{}, render.Config{})
			if err != nil {
				t.Fatal(err)
			}
			out, problems, err := set.Render(t.Context(), roots.Root{Path: root})
			if err != nil {
				t.Fatal(err)
			}
			if out.Partial != (c.want != nil) {
				t.Errorf("partial: %v", out.Partial)
			}
			got := []string{}
			for _, res := range out.Resources {
				metadata, _ := res.Object["metadata"].(map[string]any)
				name, _ := metadata["name"].(string)
				spec, _ := res.Object["spec"].(map[string]any)
				if spec["paused"] == true {
					if at := res.Origin("/spec/paused"); at.Path != "app/kustomization.yaml" || at.StartLine < 7 {
						t.Errorf("paused at %s:%d", at.Path, at.StartLine)
					}
					name += " paused"
				}
				got = append(got, name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(problems) != len(c.problems) {
				t.Fatalf("problems: %v", problems)
			}
			for i, p := range problems {
				want, unknown := strings.CutPrefix(c.problems[i], "?")
				line, text, _ := strings.Cut(want, " ")
				if p.Unknown != unknown || line != string(rune('0'+p.Line)) || !strings.Contains(p.Message, text) {
					t.Errorf("got %v %+v, want %s", p.Unknown, p, c.problems[i])
				}
			}
		})
	}
}

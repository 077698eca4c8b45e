package gitops

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

func TestGeneratorsThatMultiplyAreLimited(t *testing.T) {
	list := "{list: {elements: [" + strings.Repeat("{n: x},", 100) + "]}}"
	nested := list
	for range 2 {
		nested = "{matrix: {generators: [" + nested + ", " + list + "]}}"
	}
	deep := list
	for range 30 {
		deep = "{matrix: {generators: [" + deep + ", {list: {elements: [{n: x}]}}]}}"
	}
	for name, generator := range map[string]string{"product": nested, "depth": deep} {
		_, found, problems := read(t, appSet("  goTemplate: true\n", "  - "+generator+"\n",
			"'{{.n}}'}\n    spec: {source: {path: apps/a}}"))
		if len(found) > 0 || len(problems) != 1 || !strings.Contains(messages(problems), "more than") {
			t.Errorf("%s: %d deployments, %s", name, len(found), messages(problems))
		}
	}
}

func TestFilesAndSetsOfGeneratorsAreLimited(t *testing.T) {
	f := files{"set.yaml": ""}
	for i := range 200 {
		f[fmt.Sprintf("apps/%d/config.yaml", i)] = "a: b\n"
	}
	set := unpack(appSet("", "  - git: {files: [{path: '**/config.yaml'}]}\n",
		"'{{path.basename}}'}\n    spec: {source: {path: '{{path}}'}}"))["set.yaml"]
	documents, err := doc.Parse("set.yaml", []byte(set), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	object := []Object{FromNode("set.yaml", documents[0])}
	if found, problems := Deployments(object, Options{Tree: f}); len(found) != 200 || len(problems) != 0 {
		t.Error(len(found), messages(problems))
	}
	if found, problems := Deployments(object, Options{Tree: f, Limits: Limits{Files: 50}}); len(found) != 0 ||
		!strings.Contains(messages(problems), "limit of 50") {
		t.Error(len(found), messages(problems))
	}
	if found, problems := Deployments(object, Options{Tree: f, Limits: Limits{Sets: 50}}); len(found) != 0 ||
		!strings.Contains(messages(problems), "limit of 50") {
		t.Error(len(found), messages(problems))
	}
}

// TestWrongTypes reads objects in which a field has another type than the controllers expect, for every field.
func TestWrongTypes(t *testing.T) {
	valid := unpack(appSet("  goTemplate: true\n",
		"  - matrix: {generators: [{git: {directories: [{path: apps/*}], values: {a: b}}}, {list: {elements: [{n: x}], "+
			"elementsYaml: '[]'}}]}\n    selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}\n",
		goPath))["set.yaml"] +
		"---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k}\nspec: {path: apps/a, " +
		"sourceRef: {kind: GitRepository, name: x}, patches: [{patch: x, target: {kind: y}}], images: [{name: a, newTag: " +
		"b}], components: [x], patchesJson6902: [{patch: [{op: x}]}], postBuild: {substitute: {a: b}, substituteFrom: " +
		"[{kind: ConfigMap, name: c}]}, commonMetadata: {labels: {a: b}}}\n" +
		"---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: k}\nspec: {destination: {name: x}, " +
		"sources: [{path: apps/a, kustomize: {images: [a=b], replicas: [{name: a, count: 1}], patches: [{patch: x}], " +
		"commonLabels: {a: b}, components: [x], commonAnnotations: {a: b}}, directory: {include: x}}]}\n"
	f := unpack(apps)
	documents, err := doc.Parse("x.yaml", []byte(valid), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*yaml.Node
	var collect func(n *yaml.Node)
	collect = func(n *yaml.Node) {
		nodes = append(nodes, n)
		for _, c := range n.Content {
			collect(c)
		}
	}
	for _, d := range documents {
		collect(d)
	}
	others := []yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: "{{ ${x} [*"}, {Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"},
		{Kind: yaml.ScalarNode, Tag: "!!int", Value: "7"},
		{Kind: yaml.SequenceNode, Tag: "!!seq"}, {Kind: yaml.MappingNode, Tag: "!!map"},
		{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "a"}}},
	}
	for i, n := range nodes {
		if testing.Short() && i%4 > 0 {
			continue // all fields take five seconds: make test-all
		}
		before := *n
		for _, other := range others {
			*n = other
			var objects []Object
			for _, d := range documents {
				objects = append(objects, FromNode("x.yaml", d))
			}
			found, _ := Deployments(objects, Options{Tree: f, Find: in(objects)})
			for i := range found {
				_, _ = Edit(f, &found[i], Limits{})
				_, _ = Files(f, &found[i], Limits{})
				found[i].Digest()
			}
		}
		*n = before
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range hostileTemplates {
		f.Add(text, true)
	}
	f.Add("{{ .name | upper }}{{ range .list }}{{ . }}{{ end }}", true)
	f.Add("x-{{name}}-{{ }}{{", false)
	f.Fuzz(func(t *testing.T, text string, goTemplate bool) {
		limits := Limits{Steps: 100_000, TextBytes: 1 << 16}.withDefaults()
		s := set{values: map[string]any{"name": "x", "n": 1.5, "list": []any{"a", map[string]any{"b": nil}}}}
		tm := newTemplates(goTemplate, []string{"missingkey=error"}, limits)
		first, _, err := tm.text(text, s)
		if len(first) > limits.TextBytes+len(text) {
			t.Errorf("%d bytes", len(first))
		}
		again, _, errAgain := newTemplates(goTemplate, []string{"missingkey=error"}, limits).text(text, s)
		if first != again || (err == nil) != (errAgain == nil) {
			t.Errorf("%q once, %q then", first, again)
		}
	})
}

func FuzzSubstitute(f *testing.F) {
	for _, text := range []string{"${a}", "$${a}", "${a:=b${c}}", "${a//x/y}", "${a%%*}", "${#a}", "${a:1:2}", "${a^^}",
		"${a/%x/}", "${a##[a-z]*}", "${", "${a:=${b:=${c}}}"} {
		f.Add(text, "Hello World", true)
	}
	f.Fuzz(func(t *testing.T, text, value string, partial bool) {
		const limit = 1 << 14
		e := &expansion{text: text, variables: map[string]Value{"a": {Text: value}, "b": {}}, partial: partial, limit: limit}
		got, err := e.run()
		if err == nil && len(got) > limit {
			t.Errorf("%d bytes", len(got))
		}
		if err == nil && !strings.Contains(text, "$") && got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str",
			Value: "k"}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: text}}}
		d := &Deployment{Substitute: Substitution{Variables: e.variables}}
		d.Finish(n, FinishOptions{})
	})
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*.yaml", "{a,b}", "[!a-z]", `\*`, "**/x", "a/**", "[[:alpha:]]", "{a,{b,c}}"} {
		f.Add(p, "a/b.yaml")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		for _, d := range []dialect{directoryGlob, pathspecGlob, globPattern} {
			if re, err := d.compile(pattern); err == nil {
				re.MatchString(path)
			}
		}
	})
}

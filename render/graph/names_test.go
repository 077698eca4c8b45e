package graph_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Naming finds a name in every place where a file can set it, and leaves out files that cannot.
func TestNaming(t *testing.T) {
	type file struct{ name, path, text string }
	const wanted, other = true, false
	for _, c := range []struct {
		is  bool
		why string
		file
	}{
		{wanted, "written out", file{text: "metadata:\n  name: team-a\n"}},
		{wanted, "written out, Windows", file{text: "metadata:\r\n  name: team-a\r\n"}},
		{wanted, "with a comment", file{text: "metadata:\n  name: team-a # of all\n"}},
		{wanted, "in a flow", file{text: "metadata: {labels: {a: b}, name: team-a}\n"}},
		{wanted, "in quotes", file{text: "metadata:\n  \"name\": 'team-a'\n"}},
		{wanted, "JSON", file{path: "a.json", text: `{"metadata":{"name":"team-a"}}`}},
		{wanted, "JSON over lines", file{path: "a.json", text: "{\"metadata\":{\"name\":\n\"team-a\"}}"}},
		{wanted, "the next line", file{text: "metadata:\n  name:\n    team-a\n"}},
		{wanted, "behind a comment", file{text: "metadata:\n  name: # of all\n    team-a\n"}},
		{wanted, "folded", file{text: "metadata:\n  name: >-\n    team-a\n"}},
		{wanted, "an anchor", file{text: "metadata:\n  labels: {a: &n team-a}\n  name: *n\n"}},
		{wanted, "a tag", file{text: "metadata:\n  name: !!str team-a\n"}},
		{wanted, "a long key", file{text: "metadata:\n  ? name\n  : team-a\n"}},
		{wanted, "escapes", file{text: "metadata:\n  name: \"team\\x2da\"\n"}},
		{wanted, "escapes in the key", file{text: "metadata:\n  \"na\\x6de\": team-a\n"}},
		{wanted, "escapes in the key of an alias", file{text: "metadata:\n  labels: {a: &n team-a}\n  \"na\\x6de\": *n\n"}},
		{wanted, "a text over lines", file{text: "metadata:\n  name: \"team\\\n    -a\"\n"}},
		{wanted, "another end of the line", file{text: "metadata:\n  name: team-a\u0085\n"}},
		{wanted, "another end of the line before", file{text: "metadata:\n  name: \u0085    team-a\n"}},
		{wanted, "JSON with escapes in YAML", file{text: "- {op: replace, path: /metadata/name, value: x}\npatch: |\n" +
			"  [{\"op\": \"replace\", \"path\": \"/metadata/n\\u0061me\", \"value\": \"team-a\"}]\n"}},
		{wanted, "JSON with the colon in the next line", file{path: "a.json", text: "{\"metadata\":{\"name\"\n:\"team-a\"}}"}},
		{wanted, "base64", file{text: "metadata:\n  name: !!binary dGVhbS1h\n"}},
		{wanted, "the namespace of all", file{path: "kustomization.yaml", text: "namespace: team-a\n"}},
		{wanted, "a prefix", file{path: "kustomization.yaml", text: "namePrefix: team-\n"}},
		{other, "another prefix", file{path: "kustomization.yaml", text: "namePrefix: people-\n"}},
		{wanted, "a suffix", file{path: "kustomization.yaml", text: "nameSuffix: -a\n"}},
		{wanted, "a prefix that is not written out", file{path: "kustomization.yaml", text: "namePrefix: &p x\n"}},
		{wanted, "variables", file{path: "kustomization.yaml", text: "vars: [{name: x}]\n"}},
		{wanted, "a replacement", file{path: "kustomization.yaml",
			text: "replacements:\n- targets: [{fieldPaths: [metadata.name]}]\n"}},
		{other, "a replacement of something else", file{path: "kustomization.yaml",
			text: "replacements:\n- targets: [{fieldPaths: [metadata.labels.a, spec.b]}]\n"}},
		{wanted, "a patch", file{path: "kustomization.yaml",
			text: "patches:\n- patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"team-a\"}]'\n"}},
		{wanted, "a patch in a scalar", file{path: "kustomization.yaml",
			text: "patches:\n- patch: \"[{\\\"op\\\": \\\"add\\\", \\\"path\\\": \\\"/metadata/name\\\", \\\"value\\\": \\\"team-a\\\"}]\"\n"}},
		{other, "a patch with another", file{text: "- op: replace\n  path: /metadata/name\n  value: team-b\n"}},
		{wanted, "a patch that copies", file{text: "- op: copy\n  path: /metadata/name\n  from: /spec/x\n"}},
		{wanted, "a plugin", file{text: "kind: PrefixTransformer\nprefix: team-\n"}},
		{wanted, "a variable of Flux", file{name: "flux", text: "metadata:\n  name: ${team}\n"}},
		{other, "the same, not substituted", file{text: "metadata:\n  name: ${team}\n"}},
		{other, "another name", file{text: "metadata:\n  name: team-b\n"}},
		{other, "a longer name", file{text: "metadata:\n  name: team-a-b\n"}},
		{other, "another field", file{text: "metadata:\n  labels: {team: team-a}\n  hostname: team-a\n"}},
		{other, "a field of a definition", file{text: "properties:\n  name:\n    type: string\n    description: the name: team\n"}},
	} {
		p := c.path
		if p == "" {
			p = "a.yaml"
		}
		r := treetest.New(t)
		g, err := graph.Build(r.Tree(r.Commit("-- x/"+p+" --\n"+strings.TrimSuffix(c.text, "\n")+"\n")), graph.Options{}, &graph.Cache{})
		if err != nil {
			t.Fatal(err)
		}
		files, known := g.Naming("", "team-a", c.name == "flux")
		if got := slices.Contains(files, "x/"+p); !known || got != c.is {
			t.Errorf("%s: found %v, want %t", c.why, files, c.is)
		}
	}
}

// A file that contains a name is listed only for kinds that it mentions, unless it changes other objects.
func TestNamingOfAKind(t *testing.T) {
	const wanted, other = true, false
	for why, c := range map[string]struct {
		is         bool
		path, text string
	}{
		"object of the kind":       {wanted, "a.yaml", "kind: Namespace\nmetadata: {name: team-a}\n"},
		"object of another kind":   {other, "a.yaml", "kind: Pod\nmetadata: {name: x, namespace: team-a}\n"},
		"kind in another document": {wanted, "a.yaml", "kind: Namespace\nmetadata: {name: x}\n---\nkind: Pod\nmetadata: {name: team-a}\n"},
		"JSON":                     {wanted, "a.json", `{"kind": "Namespace", "metadata": {"name": "team-a"}}`},
		"a kustomization":          {wanted, "kustomization.yaml", "namespace: team-a\n"},
		"a patch of JSON":          {wanted, "a.yaml", "- {op: replace, path: /metadata, value: {name: team-a}}\n"},
		"a patch of the whole":     {wanted, "a.yaml", "- {op: replace, path: '', value: {metadata: {name: team-a}}}\n"},
		"the same in JSON":         {wanted, "a.json", `[{"op": "replace", "value": {"metadata": {"name": "team-a"}}, "path": ""}]`},
		"the same in a scalar":     {wanted, "kustomization.yaml", "patches:\n- patch: \"[{\\\"op\\\": \\\"add\\\", \\\"path\\\": \\\"/\\\", \\\"value\\\": {\\\"name\\\": \\\"team-a\\\"}}]\"\n"},
		"a path on the next line":  {wanted, "a.yaml", "- op: add\n  path:\n    /metadata\n  value: {name: team-a}\n"},
		"a patch of a name":        {wanted, "a.yaml", "- {op: replace, path: /metadata/name, value: team-a}\n"},
		"a patch of a field":       {other, "a.yaml", "- {op: add, path: /spec/containers/-, value: {name: team-a}}\n"},
		"a patch of labels":        {other, "kustomization.yaml", "patches:\n- patch: |\n    - {op: add, path: /metadata/labels, value: {name: team-a}}\n  target: {kind: Pod}\n"},
		"a patch in JSON":          {wanted, "a.json", `[{"op": "replace", "path": "/metadata", "value": {"name": "team-a"}}]`},
		"a patch of the kind":      {wanted, "a.yaml", "- {op: replace, path: /kind, value: Namespace}\n"},
		"a name that may change":   {wanted, "kustomization.yaml", "patches: [{path: a.yaml, options: {allowNameChange: true}}]\n"},
		"a kind that may change":   {wanted, "kustomization.yaml", "patches: [{path: a.yaml, options: {allowKindChange: true}}]\n"},
		"a replacement of a kind":  {wanted, "kustomization.yaml", "replacements: [{targets: [{select: {kind: Pod}, fieldPaths: [kind]}]}]\n"},
		"another replacement":      {other, "kustomization.yaml", "replacements: [{targets: [{select: {kind: Pod}, fieldPaths: [spec.a]}]}]\n"},
		"the target of a patch":    {other, "kustomization.yaml", "patches: [{path: a.yaml, target: {kind: Pod, name: team-a}}]\n"},
		"an image":                 {other, "kustomization.yaml", "images: [{name: team-a, newTag: v1}]\n"},
		"a merge patch inside":     {wanted, "kustomization.yaml", "patches:\n- patch: |\n    kind: Namespace\n    metadata: {name: team-a}\n"},
		"a generated object":       {other, "kustomization.yaml", "configMapGenerator: [{name: team-a, literals: [a=b]}]\n"},
		"an escape":                {wanted, "a.yaml", "\"k\\x69nd\": Namespace\nmetadata: {name: team-a}\n"},
	} {
		r := treetest.New(t)
		g, err := graph.Build(r.Tree(r.Commit("-- x/"+c.path+" --\n"+c.text)), graph.Options{}, &graph.Cache{})
		if err != nil {
			t.Fatal(err)
		}
		files, known := g.Naming("Namespace", "team-a", false)
		if got := slices.Contains(files, "x/"+c.path); !known || got != c.is {
			t.Errorf("%s: found %v, want %t", why, files, c.is)
		}
	}
}

// A generator names objects of its own kind, and a name can be asked for by its end.
func TestNamingOfOthers(t *testing.T) {
	r := treetest.New(t)
	g, err := graph.Build(r.Tree(r.Commit("-- a/kustomization.yaml --\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\n"+
		"-- b.yaml --\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n"+
		"-- c.yaml --\nkind: CustomResourceDefinition\nmetadata: {name: widgets.sample.com}\n")), graph.Options{}, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, name, want string
	}{
		{"ConfigMap", "settings", "a/kustomization.yaml"}, {"Secret", "settings", ""},
		{"CustomResourceDefinition", "*.example.com", "b.yaml"}, {"CustomResourceDefinition", "*.com", "b.yaml c.yaml"},
		{"CustomResourceDefinition", "*gets.example.com", "b.yaml"}, {"Pod", "*.example.com", ""},
	} {
		files, known := g.Naming(c.kind, c.name, false)
		if got := strings.Join(files, " "); !known || got != c.want {
			t.Errorf("%s %s: found %q, want %q", c.kind, c.name, got, c.want)
		}
	}
}

// A name with unusual characters is not known.
func TestNamingIsNotKnown(t *testing.T) {
	r := treetest.New(t)
	g, err := graph.Build(r.Tree(r.Commit("-- a.yaml --\nname: A\n")), graph.Options{}, &graph.Cache{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "A", "a_b", "a/b", "a b", "-", "a:"} {
		if _, known := g.Naming("", name, true); known {
			t.Errorf("%q is known", name)
		}
	}
}

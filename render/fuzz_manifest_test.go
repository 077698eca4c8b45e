package render_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// For any file of manifests, policies see the objects that kubectl would create from it, or the file is a problem. No
// spelling hides an object or a field.
func FuzzManifest(f *testing.F) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" +
		"spec: {containers: [{name: c, image: i, securityContext: {privileged: true}}]}\n"
	for _, seed := range []string{
		pod, "---\n" + pod + "---\n# nothing\n---\n" + pod, "apiVersion: v1\nkind: List\nitems:\n- " +
			strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: " +
			"{name: a}}]}]\n",
		"apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, spec: {hostNetwork: on}}]\n",
		"apiVersion: v1\nkind: Odd\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: &p hostNetwork}\nspec: {*p : true}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {!!binary aG9zdE5ldHdvcms=: true}\n",
		"apiVersion: v1\nkind: !!binary UG9k\nmetadata: {name: a}\n",
		"apiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: a}\n",
		"x: &x {hostNetwork: true}\napiVersion: v1\nkind: Pod\nspec: {hostNetwork: false, <<: *x}\n",
		"x: &x {hostNetwork: true}\napiVersion: v1\nkind: Pod\nspec: {<<: *x, hostNetwork: false}\n",
		"apiVersion: v1\nkind: Pod\n!!merge spec: {hostNetwork: true}\n",
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
		"{\"apiVersion\":\"v1\",\n\t\"kind\":\"Pod\"}", "\ufeff" + pod, strings.ReplaceAll(pod, "\n", "\r\n"),
		"%YAML 1.1\n---\n" + pod,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: 1e3, labels: {a: 010, b: 1_0, c: .5, d: ~, e: '', f: 2001-01-01, " +
			"g: 1:30}}\n",
		"--- {apiVersion: v1, kind: Pod}\n", "--- # x\n" + pod + "...\n---\n" + pod,
		"a: |\n  ---\n  apiVersion: v1\n  kind: Pod\n",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n--- \nkind: Pod\napiVersion: v1\n",
	} {
		f.Add([]byte(seed), []byte{})
		for op := range 14 {
			f.Add([]byte(seed), []byte{byte(op), 3, 1, byte(op), 5, 8})
		}
	}
	r := treetest.New(f)
	tr := r.Tree(r.Commit("-- a.yaml --\n" + pod))
	g, err := deploy.Open(tr, roots.Options{}, &graph.Cache{}, render.Config{Limits: render.Limits{Source: doc.Limits{Nodes: 20_000}, Resources: 1000}})
	if err != nil {
		f.Fatal(err)
	}
	base := g
	f.Fuzz(func(t *testing.T, data, program []byte) {
		if len(program) > 0 {
			data = mutate(data, program)
		}
		if len(data) > 1<<16 {
			return
		}
		resources, _, problem, err := base.Renderer.With(map[string][]byte{"a.yaml": data}).Manifest("a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		broken := func(res *render.Resource) bool { return len(res.Issues) > 0 }
		if problem != nil || slices.ContainsFunc(resources, broken) {
			return
		}
		want, ok := created(data)
		if !ok {
			return
		}
		var got []any
		for _, res := range resources {
			got = append(got, roundTrip(t, res.Object))
		}
		if !reflect.DeepEqual(got, want) {
			seen, _ := json.Marshal(got)
			real, _ := json.Marshal(want)
			t.Fatalf("policies see\n%s\nkubectl creates\n%s\nof\n%s", seen, real, data)
		}
	})
}

func roundTrip(t *testing.T, v any) (out any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// created returns what kubectl reads from a file (k8s.io/cli-runtime, resource.StreamVisitor and FlattenListVisitor).
// It returns false where kubectl would refuse the file, or where keys are not strings, which mean nothing to the API.
func created(data []byte) (objects []any, ok bool) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, true
		}
		var node yaml.Node
		if err != nil || yaml.Unmarshal(document, &node) != nil || !plainKeys(&node) {
			return nil, false
		}
		var object any
		if sigsyaml.Unmarshal(document, &object) != nil {
			return nil, false
		}
		if !flatten(object, &objects) {
			return nil, false
		}
	}
}

func plainKeys(n *yaml.Node) bool {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			key := doc.Deref(c)
			var word any
			if key.Kind != yaml.ScalarNode || sigsyaml.Unmarshal([]byte(key.Value), &word) != nil ||
				key.ShortTag() != "!!str" && key.ShortTag() != "!!merge" && key.ShortTag() != "!!binary" {
				return false
			}
			if _, text := word.(string); !text {
				return false
			}
		}
		if strings.HasPrefix(c.Tag, "!") && !strings.HasPrefix(c.Tag, "!!") || !plainKeys(c) {
			return false
		}
	}
	return true
}

// flatten adds the objects of a document. It returns false where kubectl refuses one.
func flatten(object any, out *[]any) bool {
	m, ok := object.(map[string]any)
	if !ok {
		return object == nil
	}
	kind, _ := m["kind"].(string)
	apiVersion, _ := m["apiVersion"].(string)
	items, list := m["items"].([]any)
	if list && (kind == "" || apiVersion == "") {
		return false
	}
	if !list {
		group, _, _ := strings.Cut(apiVersion, "/")
		if kind != "" && apiVersion != "" && group != "kustomize.config.k8s.io" && group != "cli.kyverno.io" {
			*out = append(*out, m)
		}
		return true
	}
	for _, item := range items {
		o, ok := item.(map[string]any)
		if !ok {
			return false
		}
		if o["kind"] == nil && o["apiVersion"] == nil {
			if o["kind"], o["apiVersion"] = strings.TrimSuffix(kind, "List"), apiVersion; o["kind"] == "" {
				return false
			}
		}
		if !flatten(o, out) {
			return false
		}
	}
	return true
}

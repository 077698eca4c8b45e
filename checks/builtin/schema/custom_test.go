package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const shops = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - {rule: "self.size >= oldSelf.size", message: size must not shrink}
            properties:
              size: {type: integer, maximum: 9}
              mode: {type: string, enum: [fast, safe]}
`

func parsed(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func shop(t *testing.T, spec string) map[string]any {
	t.Helper()
	return parsed(t, "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}, spec: "+spec+"}")
}

// Every field that the API server would reject or prune is found, and no field that it accepts.
func TestLookFindsWhatTheDefinitionRefuses(t *testing.T) {
	d := newDefinitions([]map[string]any{parsed(t, shops)}, kind{"example.com", "Shop"}, 0)
	if !d.has("example.com", "Shop") || d.has("example.com", "Other") || !slices.Equal(d.versions("example.com", "Shop"), []string{"v1"}) {
		t.Fatalf("versions %v", d.versions("example.com", "Shop"))
	}
	for _, c := range []struct {
		version, spec, old string
		want               string // pointer and part of the message; empty: nothing is found
	}{
		{"v1", "{size: 3, mode: fast}", "", ""},
		{"v1", "{size: three}", "", "/spec/size integer"},
		{"v1", "{size: 10}", "", "/spec/size 9"},
		{"v1", "{mode: fast}", "", "/spec/size "},
		{"v1", "{size: 3, mode: slow}", "", `/spec/mode "fast"`},
		{"v1", "{size: 3, colour: red}", "", "/spec/colour "},
		{"v1", "{size: 2}", "{size: 3}", "/spec size must not shrink"},
		{"v1", "{size: 3}", "{size: 2}", ""},
		{"v2", "{size: 3}", "", `/apiVersion no version "v2"`},
	} {
		var old map[string]any
		if c.old != "" {
			old = shop(t, c.old)
		}
		found, err := d.look(t.Context(), "example.com", c.version, shop(t, c.spec), old)
		if err != nil {
			t.Errorf("%s %s: %v", c.version, c.spec, err)
		}
		pointer, message, _ := strings.Cut(c.want, " ")
		switch {
		case c.want == "" && len(found) == 0:
		case len(found) == 1 && found[0].Pointer == pointer && strings.Contains(fmt.Sprint(found[0].Message), message):
		default:
			t.Errorf("%s %s after %s: %+v, want %q", c.version, c.spec, c.old, found, c.want)
		}
	}
	if found, err := d.look(t.Context(), "example.com", "v1", map[string]any{"kind": "Other"}, nil); len(found) != 0 || err != nil {
		t.Errorf("a kind that nobody defines: %v, %v", found, err)
	}
}

func TestControllersRequireFields(t *testing.T) {
	none := func(context.Context, string, string, string) []map[string]any { return nil }
	s := Compile("", none)
	for key, of := range controllers().kinds {
		for version := range of.serves {
			object := map[string]any{"apiVersion": key.group + "/" + version, "kind": key.name, "spec": "text"}
			found := s.Required(t.Context(), object)
			if len(found) != 1 || found[0].Pointer != "/spec" {
				t.Errorf("%s of %s: got %v", key.name, version, found)
			}
		}
	}
	object := parsed(t, `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
spec: {chartRef: {kind: OCIRepository, name: web}, chart: {spec: {chart: web}}, interval: "${often}", timeout: 1}`)
	var got []string
	for _, v := range s.Required(t.Context(), object) {
		got = append(got, v.Pointer)
	}
	if want := []string{"/spec/chart/spec/sourceRef", "/spec/timeout"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	object["apiVersion"] = "helm.toolkit.fluxcd.io/v3"
	if found := s.Required(t.Context(), object); found != nil {
		t.Errorf("got %v of a version that is not known", found)
	}
}

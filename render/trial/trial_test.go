package trial_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/trial"
)

func release(t *testing.T, steps int) *trial.Release {
	t.Helper()
	object := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {v: '{{ .Values." + name + " }}'}\n"
	}
	chart, err := helm.Load([]helm.File{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")},
		{Name: "values.yaml", Data: []byte("a: 1\nb: 2\nunread: 3\n")},
		{Name: "templates/a.yaml", Data: []byte(object("a"))},
		{Name: "templates/b.yaml", Data: []byte(`{{ if eq (print .Values.b) "bad" }}{{ fail "b is bad" }}{{ end }}` + object("b"))},
	}, helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return trial.New(chart, helm.Options{Name: "rel", Namespace: "ns"}, doc.Limits{}, steps)
}

func set(key string, value any) trial.Edit {
	return trial.Edit{Set: []trial.Value{{Path: []string{key}, Value: value}}}
}

func TestChangesAreTheObjectsThatDiffer(t *testing.T) {
	r := release(t, trial.Steps)
	for _, c := range []struct {
		name, template string
		edit           trial.Edit
		objects        []string
		failed         bool
	}{
		{name: "a value that is read", edit: set("a", "9"), objects: []string{"ConfigMap  a"}},
		{name: "a value that nobody reads", edit: set("unread", "9")},
		{name: "a value that another template reads", template: "app/templates/b.yaml", edit: set("a", "9")},
		{name: "a value that fails", edit: set("b", "bad"), failed: true},
		{name: "a value in one template", template: "app/templates/b.yaml", edit: set("b", "9"), objects: []string{"ConfigMap  b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.Changes(t.Context(), c.edit)
			if c.template != "" {
				got = r.ChangesIn(t.Context(), c.template, c.edit)
			}
			if !got.Known || got.Failed != c.failed {
				t.Fatalf("known %v, failed %v", got.Known, got.Failed)
			}
			for _, objects := range []map[string]bool{keys(got.Was), keys(got.Now)} {
				if diff := cmp.Diff(c.objects, slices.Sorted(maps.Keys(objects))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func keys[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

func TestNothingIsTriedBeyondTheBudget(t *testing.T) {
	r := release(t, 10)
	r.Weigh(10, false)
	if _, err := r.Try(t.Context(), set("a", "9")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Try(t.Context(), set("a", "8")); !errors.Is(err, trial.ErrBudget) {
		t.Errorf("got %v", err)
	}
	if r.Changes(t.Context(), set("a", "8")).Known {
		t.Error("what was not rendered is known")
	}
	if _, err := r.Render(t.Context()); err != nil {
		t.Errorf("the release as it is: %v", err)
	}
}

func TestAnEditLeavesTheReleaseAlone(t *testing.T) {
	r := release(t, trial.Steps)
	before, err := r.Render(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Try(t.Context(), trial.Edit{Values: map[string]any{"a": "x"}, Without: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.Render(t.Context())
	if err != nil || before != after {
		t.Errorf("rendered again: %v", err)
	}
	if diff := cmp.Diff(before.Files, out.Files); diff != "" {
		t.Errorf("a value that is set and left out (-without +with):\n%s", diff)
	}
}

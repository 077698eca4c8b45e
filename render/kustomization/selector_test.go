package kustomization

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSelectorMatchesLabels(t *testing.T) {
	own := map[string]string{"app": "web", "tier": "front"}
	for selector, want := range map[string]bool{
		"": true, "app=web": true, "app==web": true, "app = web": true, "app=db": false, "app!=db": true, "app!=web": false,
		"app": true, "!app": false, "none": false, "!none": true, "app=web,tier=front": true, "app=web,tier=back": false,
		"app in (db, web)": true, "app notin (db, web)": false,
	} {
		for _, field := range []string{"labelSelector", "annotationSelector"} {
			var n yaml.Node
			if err := n.Encode(map[string]string{field: selector}); err != nil {
				t.Fatal(err)
			}
			s, err := NewSelector(&n)
			if got := err == nil && s.MatchLabels(own, own); got != want {
				t.Errorf("%s %q: got %v, %v", field, selector, got, err)
			}
			if got := err == nil && s.MatchLabels(nil, nil); got && selector == "app=web" {
				t.Error("no labels match")
			}
		}
	}
}

func TestSelectorRefusesWhatKustomizeRefuses(t *testing.T) {
	for _, field := range []string{"name", "labelSelector", "annotationSelector"} {
		var n yaml.Node
		if err := n.Encode(map[string]string{field: "a("}); err != nil {
			t.Fatal(err)
		}
		if _, err := NewSelector(&n); err == nil {
			t.Errorf("%s is accepted", field)
		}
	}
}

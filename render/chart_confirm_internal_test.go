package render

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/trial"
)

func objectOf(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document.Content[0]
}

// A tried value may add an object, which has no fields before, and may rename one.
func TestTriedValueAddsOrRenamesObject(t *testing.T) {
	own := objectOf(t, "{kind: ConfigMap, metadata: {name: a}, data: {k: v}}")
	added := objectOf(t, "{kind: ConfigMap, metadata: {name: b}, data: {k: v}}")
	of := spot{object: own}
	changes := &trial.Changes{Was: map[string]*yaml.Node{}, Now: map[string]*yaml.Node{trial.Name(added): added}}
	if count, field := harmOf(changes, of); count != 3 || field != "" {
		t.Errorf("an added object weighs %d, %q", count, field)
	}
	if renamed(changes, own) != nil {
		t.Error("an object that is still there was renamed")
	}
	changes.Was[trial.Name(own)] = own
	if renamed(changes, own) != added {
		t.Error("the only added object of the kind is not the renamed one")
	}
	other := objectOf(t, "{kind: ConfigMap, metadata: {name: a, namespace: n}, data: {k: v}}")
	if changes.Now[trial.Name(other)] = other; renamed(changes, own) != other {
		t.Error("the added object with the same name is not the moved one")
	}
}

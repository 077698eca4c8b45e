package engine_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// What a policy that is not inherited mutates makes no inherited one pass; the other way round it does, as does what an
// inherited one mutates for an inherited one.
func TestInheritedSeeNoOthersMutations(t *testing.T) {
	const requires = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: requires}
spec:
  rules:
    - name: label
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate: {failureAction: Enforce, message: needs a label, pattern: {metadata: {labels: {team: "?*"}}}}
`
	const adds = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: adds}
spec:
  rules:
    - name: label
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {team: everybody}}}}
`
	for _, c := range []struct {
		name           string
		requires, adds bool // whether it is inherited
		want           engine.Outcome
	}{
		{name: "nobody inherits", want: engine.Pass},
		{name: "both inherited", requires: true, adds: true, want: engine.Pass},
		{name: "the mutation is inherited", adds: true, want: engine.Pass},
		{name: "the validation is inherited", requires: true, want: engine.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources := []policy.Source{{Path: "adds.yaml", Documents: yamltest.Documents(adds)}, {Path: "requires.yaml", Documents: yamltest.Documents(requires)}}
			sources[0].Inherited, sources[1].Inherited = c.adds, c.requires
			policies, problems := engine.CompilePolicies(sources, engine.Options{})
			if policy.HasErrors(problems) {
				t.Fatal(problems)
			}
			object := admission.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "b"}}
			results := policies.Bind(nil, nil).Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object})
			if len(results) != 2 {
				t.Fatalf("%+v", results)
			}
			r := results[slices.IndexFunc(results, func(r engine.Result) bool { return r.Policy.Name == "requires" })]
			if r.Outcome != c.want || r.Policy.Inherited != c.requires {
				t.Errorf("%+v", r)
			}
		})
	}
}

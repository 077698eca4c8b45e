package engine_test

import (
	"context"
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

// viewed answers inherited policies with one object, and all others with another.
type viewed struct{ inherited, own admission.Object }

func (v viewed) Get(ctx context.Context, _, kind, _, _ string) (admission.Object, bool) {
	if kind != "ConfigMap" {
		return nil, false
	}
	if admission.IsInheritedView(ctx) {
		return v.inherited, v.inherited != nil
	}
	return v.own, v.own != nil
}

func (v viewed) List(ctx context.Context, group, kind, _ string) []admission.Object {
	if o, ok := v.Get(ctx, group, kind, "", ""); ok {
		return []admission.Object{o}
	}
	return nil
}

// What an inherited policy looks up, and where it takes the object to be, is what inherited policies may see, before and
// after a mutation, of policies in either language; and what others see is not.
func TestInheritedSeeTheirOwnCluster(t *testing.T) {
	const rules = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: adds}
spec:
  rules:
    - name: label
      match: {any: [{resources: {kinds: [Pod]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {touched: "yes"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: looks}
spec:
  rules:
    - name: up
      match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}
      context: [{name: said, configMap: {name: said, namespace: a}}]
      validate:
        failureAction: Enforce
        message: "{{ said.data.by }}"
        deny: {conditions: {any: [{key: "{{ said.data.by }}", operator: Equals, value: organisation}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {env: prod}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
    - expression: resource.Get("v1", "configmaps", "a", "said").data.by != "organisation"
`
	said := func(by string) admission.Object {
		return admission.Object{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"by": by},
			"metadata": map[string]any{"name": "said", "namespace": "a"}}
	}
	in := func(env string) admission.Place {
		return admission.Place{Namespace: admission.Object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "b", "labels": map[string]any{"env": env}}}}
	}
	prod, dev := in("prod"), in("dev")
	for _, c := range []struct {
		name      string
		inherited bool
		cluster   viewed
		place     admission.Place
		above     *admission.Place
		want      []engine.Outcome // of looks and of cel
	}{
		{"both alike", true, viewed{said("organisation"), said("organisation")}, prod, nil, []engine.Outcome{engine.Fail, engine.Fail}},
		{"the repository claims to be another namespace", true, viewed{said("organisation"), said("repository")}, dev, &prod,
			[]engine.Outcome{engine.Fail, engine.Fail}},
		{"the organisation says that it is another one", true, viewed{said("organisation"), said("repository")}, prod, &dev, nil},
		{"nobody tells inherited policies", true, viewed{own: said("repository")}, prod, &prod,
			[]engine.Outcome{engine.Unknown, engine.Unknown}},
		{"the namespace is not known to inherited ones", true, viewed{said("organisation"), said("repository")}, dev, &admission.Place{},
			[]engine.Outcome{engine.Unknown, engine.Unknown}},
		{"not inherited", false, viewed{said("organisation"), said("repository")}, prod, &dev, []engine.Outcome{engine.Pass, engine.Pass}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policies, problems := engine.CompilePolicies([]policy.Source{
				{Path: "p.yaml", Documents: yamltest.Documents(rules), Inherited: c.inherited}}, engine.Options{})
			if policy.HasErrors(problems) {
				t.Fatal(problems)
			}
			object := admission.Object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "namespace": "b"}}
			request := &admission.Request{Operation: admission.Create, Object: object, Place: c.place, Inherited: c.above}
			var got []engine.Outcome
			for _, r := range policies.Bind(nil, c.cluster).Evaluate(t.Context(), request) {
				if r.Policy.Name != "adds" {
					got = append(got, r.Outcome)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

package engine_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
)

// What decides is named as narrowly as a person would: the image of a container, the elements of a list.
func TestFieldsThatDecide(t *testing.T) {
	pod := object(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {team: x}}
spec:
  tolerations: [{key: a}, {key: bad}, {key: c}, {key: worse}]
  containers: [{name: one, image: 'x:1'}, {name: two, image: 'x:latest', args: [a, b, c]}]
  initContainers: [{name: zero, image: 'y'}]
`)
	list := "{{ request.object.spec.tolerations[].key }}"
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"image by the name of the element": {
			"foreach: [{list: request.object.spec.containers, deny: {conditions: {any: [" +
				`{key: '{{ images.containers."{{element.name}}".tag }}', operator: Equals, value: latest}]}}}]`,
			[]string{"/spec/containers/1/image"}},
		"image of a context variable": {
			"foreach: [{list: request.object.spec.containers, context: [{name: tag, variable: {jmesPath: " +
				`'images.containers."{{element.name}}".tag'}}], deny: {conditions: {any: [` +
				`{key: '{{ tag }}', operator: Equals, value: latest}]}}}]`,
			[]string{"/spec/containers/1/image"}},
		"image of several lists": {
			"foreach: [{list: 'request.object.spec.[initContainers, containers][]', deny: {conditions: {any: [" +
				`{key: "{{ images.[initContainers, containers][].\"{{element.name}}\".tag | [0] }}", ` +
				"operator: Equals, value: latest}]}}}]",
			[]string{"/spec/containers/1/image", "/spec/initContainers/0/image"}},
		"AnyIn": {"deny: {conditions: {any: [{key: '" + list + "', operator: AnyIn, value: [bad, worse]}]}}",
			[]string{"/spec/tolerations/1/key", "/spec/tolerations/3/key"}},
		"AnyNotIn": {"deny: {conditions: {any: [{key: '" + list + "', operator: AnyNotIn, value: [a, c]}]}}",
			[]string{"/spec/tolerations/1/key", "/spec/tolerations/3/key"}},
		"AllIn": {"deny: {conditions: {any: [{key: '{{ request.object.spec.containers[1].args }}', operator: AllIn, " +
			"value: [a, b, c, d]}]}}",
			[]string{"/spec/containers/1/args/0", "/spec/containers/1/args/1", "/spec/containers/1/args/2"}},
		"AllNotIn": {"deny: {conditions: {any: [{key: '{{ request.object.spec.containers[1].args }}', operator: AllNotIn, " +
			"value: [d]}]}}",
			[]string{"/spec/containers/1/args/0", "/spec/containers/1/args/1", "/spec/containers/1/args/2"}},
		"AnyNotIn of a plain list": {"deny: {conditions: {any: [{key: '{{ request.object.spec.containers[1].args }}', " +
			"operator: AnyNotIn, value: [a, c]}]}}", []string{"/spec/containers/1/args/1"}},
		"AnyIn of a plain list": {"deny: {conditions: {any: [{key: '{{ request.object.spec.containers[1].args }}', " +
			"operator: AnyIn, value: [b]}]}}", []string{"/spec/containers/1/args/1"}},
		"AnyNotIn of a variable": {
			"deny: {conditions: {any: [{key: '{{ keys }}', operator: AnyNotIn, value: '{{ allowed }}'}]}}",
			[]string{"/spec/tolerations/1/key", "/spec/tolerations/3/key"}},
		"AnyIn of a variable": {
			"deny: {conditions: {any: [{key: '{{ keys }}', operator: AnyIn, value: '{{ denied }}'}]}}",
			[]string{"/spec/tolerations/1/key", "/spec/tolerations/3/key"}},
		"AnyIn of a variable with a default": {
			"deny: {conditions: {any: [{key: '{{ withDefault }}', operator: AnyIn, value: '{{ denied }}'}]}}",
			[]string{"/spec/tolerations/1/key", "/spec/tolerations/3/key"}},
		"AnyNotIn of two lists together": {"deny: {conditions: {any: [{key: '{{ images.[initContainers, containers][].*.tag[] }}', " +
			"operator: AnyNotIn, value: ['1']}]}}", []string{"/spec/containers/1/image", "/spec/initContainers/0/image"}},
		"AllNotIn of a variable": {
			"deny: {conditions: {any: [{key: '{{ keys }}', operator: AllNotIn, value: [other]}]}}",
			[]string{"/spec/tolerations/0/key", "/spec/tolerations/1/key", "/spec/tolerations/2/key", "/spec/tolerations/3/key"}},
		"AnyIn in nested foreach": {
			"foreach: [{list: request.object.spec.containers, foreach: [{list: 'element.args || `[]`', deny: {conditions: {any: [" +
				"{key: '{{ element }}', operator: AnyIn, value: [b, c]}]}}}]}]",
			[]string{"/spec/containers/1/args/1", "/spec/containers/1/args/2"}},
		"AnyIn of a list in foreach": {
			"foreach: [{list: request.object.spec.containers, deny: {conditions: {any: [" +
				"{key: '{{ element.args || `[]` }}', operator: AnyIn, value: [b]}]}}}]",
			[]string{"/spec/containers/1/args/1"}},
		"AnyIn of the keys of a mapping": {
			"deny: {conditions: {any: [{key: '{{ request.object.metadata.labels.keys(@) }}', operator: AnyIn, value: [team]}]}}",
			[]string{"/metadata/labels/team"}},
	} {
		p := mustCompile(t, clusterPolicy("p", `  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    context:
    - {name: keys, variable: {jmesPath: "request.object.spec.tolerations[].key"}}
    - {name: withDefault, variable: {jmesPath: "request.object.spec.tolerations[].key", default: []}}
    - {name: allowed, variable: {value: [a, c]}}
    - {name: denied, variable: {value: [bad, worse]}}
    validate: {message: No, `+c.body+"}\n"))
		results := p.Bind(nil, nil).Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: pod})
		if len(results) != 1 || !slices.Equal(results[0].Fields, c.want) {
			t.Errorf("%s: %+v, want %q", name, results, c.want)
		}
	}
}

package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// TestUnreadableIsNoPass holds that nothing passes and nothing is skipped because a part of the object has a form that
// the API server refuses and that Kyverno cannot read either.
func TestUnreadableIsNoPass(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: n}\nspec: " + spec
	}
	deployment := func(spec string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: n}\nspec: " + spec
	}
	cron := func(spec string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c, namespace: n}\nspec: " + spec
	}
	const security = "validate: {podSecurity: {level: baseline, version: latest}}"
	const tags = "deny: {conditions: {any: [{key: '{{ element.tag }}', operator: Equals, value: latest}]}}"
	const eachImage = "validate: {message: m, foreach: [{list: 'images.containers.*', " + tags + "}]}"
	const lastImage = "validate: {message: m, foreach: [{list: request.object.metadata.name, deny: {conditions: {any: [" +
		"{key: '{{ element }}', operator: Equals, value: bad}]}}}, {list: 'images.containers.*', " + tags + "}]}"
	const asked = "validate: {message: m, foreach: [{list: request.object.metadata.name, preconditions: {all: [" +
		"{key: '{{ images.containers.*.tag }}', operator: AnyIn, value: [latest]}]}, deny: {}}]}"
	const oldIn = "validate: {message: m, deny: {conditions: {any: [" +
		"{key: '{{ request.object.spec.containers[].ports[].containerPort }}', operator: In, value: ['80']}]}}}"
	for _, tt := range []struct{ name, rule, object, message string }{
		{"podSecurity, spec is a list", security, pod("[{hostPID: true}]"), "spec must be a map, not a list"},
		{"podSecurity, spec is text", security, pod("hostPID"), "spec must be a map, not text"},
		{"podSecurity, containers is a map", security, pod("{containers: {a: {image: x}}}"), "/spec is not a pod spec"},
		{"podSecurity, template is a list", security, deployment("{template: [{spec: {hostPID: true}}]}"),
			"spec.template must be a map, not a list"},
		{"podSecurity, jobTemplate is a list", security, cron("{jobTemplate: [{spec: {template: {}}}]}"),
			"spec.jobTemplate must be a map, not a list"},
		{"images, container without a name", eachImage, pod("{containers: [{image: 'nginx:latest'}]}"),
			"there is no text in the field name beside /spec/containers/0/image"},
		{"images, name is a number", eachImage, pod("{containers: [{name: 1, image: 'nginx:latest'}]}"), "field name"},
		{"images, container without name and image", eachImage, pod("{containers: [{}]}"), "field name"},
		{"images, container is text", eachImage, pod("{containers: [nginx]}"), "/spec/containers/0 must be a map"},
		{"images, containers is text", eachImage, pod("{containers: nginx}"), "/spec/containers must be a list or a map"},
		{"images, spec is a list", eachImage, pod("[{containers: []}]"), "spec must be a map, not a list"},
		{"images, another list is text", eachImage, pod("{initContainers: x, containers: [{name: a, image: 'nginx:1'}]}"),
			"/spec/initContainers must be a list or a map"},
		{"images, template is text", eachImage, deployment("{template: x}"), "spec.template must be a map"},
		{"images, jobTemplate is a list", eachImage, cron("{jobTemplate: [x]}"), "spec.jobTemplate must be a map"},
		{"images after another foreach that passes", lastImage, pod("{containers: [{image: 'nginx:latest'}]}"), "field name"},
		{"images in preconditions of an element", asked, pod("{containers: [{image: 'nginx:latest'}]}"), "field name"},
		{"In with a list of numbers", oldIn, pod("{containers: [{ports: [{containerPort: 443}]}]}"),
			"the operator In is for lists of text only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := strings.Replace(ruleOf(tt.rule), "  annotations: {pod-policies.kyverno.io/autogen-controllers: none}\n", "", 1)
			results := mustCompile(t, data).Bind(nil, nil).Evaluate(t.Context(), &admission.Request{
				Operation: admission.Create, Object: object(t, tt.object)})
			if len(results) != 1 || results[0].Outcome != engine.Error || !strings.Contains(results[0].Message, tt.message) {
				t.Errorf("got %+v, want an error with %q", results, tt.message)
			}
		})
	}
	// What is written otherwise but can be read is read.
	for _, tt := range []struct{ name, rule, object string }{
		{"images of a map of containers", eachImage, pod("{containers: {a: {name: a, image: 'nginx:latest'}}}")},
		{"images beside a container without an image", eachImage,
			pod("{containers: [{name: a}, {name: b, image: 'nginx:latest'}]}")},
		{"podSecurity beside null", security, pod("{hostPID: true, containers: null, volumes: null}")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results := mustCompile(t, ruleOf(tt.rule)).Bind(nil, nil).Evaluate(t.Context(), &admission.Request{
				Operation: admission.Create, Object: object(t, tt.object)})
			if len(results) != 1 || results[0].Outcome != engine.Fail {
				t.Errorf("got %+v, want a failure", results)
			}
		})
	}
}

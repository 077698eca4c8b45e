package engine_test

import (
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const task = `
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: t}
spec:
  builder: {image: "docker://other.example/builder:2"}
  steps:
  - {name: one, image: registry.example/a/one:1.0}
  - {name: two, image: busybox}
  - {name: none}
`

// Custom extractors find the images of kinds that are not pods; the failing fields are where they found them.
func TestImageExtractors(t *testing.T) {
	deny := func(key, value string) string {
		return "validate:\n  message: m\n  deny:\n    conditions:\n      any:\n      - {key: \"" + key +
			"\", operator: AnyNotIn, value: [" + value + "]}\n"
	}
	for _, c := range []struct {
		name, extractors, body string
		want                   engine.Outcome
		fields                 []string
	}{
		{"all allowed", "- {path: /spec/steps/*/image}", deny("{{ images.custom.*.registry }}",
			"registry.example, docker.io"), engine.Pass, nil},
		{"one is not", "- {path: /spec/steps/*/image}", deny("{{ images.custom.*.registry }}", "registry.example"),
			engine.Fail, []string{"/spec/steps/1/image"}},
		{"value and key", "- {path: /spec/steps/*, value: image, key: name, name: steps}",
			deny("{{ images.steps.two.tag }}", "v1"), engine.Fail, []string{"/spec/steps/1/image"}},
		{"jmesPath", "- {path: /spec/builder/image, name: builder, jmesPath: \"trim_prefix(@, 'docker://')\"}",
			deny("{{ images.builder.*.registry }}", "registry.example"), engine.Fail, []string{"/spec/builder/image"}},
		{"nothing there", "- {path: /spec/sidecars/*/image}", deny("{{ images.custom.*.registry || `[]` }}",
			"registry.example"), engine.Pass, nil},
		{"not a map", "- {path: /kind/x/image}", deny("{{ images.custom.*.registry }}", "registry.example"), engine.Error,
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustCompile(t, ruleOn("tekton.dev/v1/Task", "imageExtractors:\n  Task:\n  "+c.extractors+"\n"+c.body))
			results := p.Bind(nil, nil).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
				Object: object(t, task)})
			if len(results) != 1 || results[0].Outcome != c.want {
				t.Fatalf("got %+v, want %s", results, c.want)
			}
			if c.want == engine.Fail && !slices.Equal(results[0].Fields, c.fields) {
				t.Errorf("got fields %q, want %q", results[0].Fields, c.fields)
			}
		})
	}
}

func TestImageExtractorProblems(t *testing.T) {
	data := ruleOn("Task", "imageExtractors:\n  Task:\n  - {path: /}\n  - {path: /a/b, jmesPath: \"((\"}\n"+
		"validate: {message: m, deny: {}}")
	_, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}},
		engine.Options{})
	lines := map[int]bool{}
	for _, p := range problems {
		if !p.Warning {
			lines[p.Line] = true
		}
	}
	if !lines[12] || !lines[13] {
		t.Errorf("got %v", problems)
	}
}

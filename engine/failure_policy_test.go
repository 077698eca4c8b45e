package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// What cannot be evaluated blocks where the failure policy says so; violations block whatever it says.
func TestFailurePolicy(t *testing.T) {
	const (
		broken = "validate: {failureAction: Enforce, deny: " +
			"{conditions: {all: [{key: '{{ to_number(request.object.spec.containers) | abs(@) }}', operator: Equals, value: 1}]}}}"
		unmet = "preconditions: {all: [{key: '{{ request.object.spec.no }}', operator: Equals, value: 1}]}\n" +
			"validate: {failureAction: Enforce, deny: {}}"
		mutating = "mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ request.object.spec.no }}'}}}}"
		violated = "validate: {failureAction: Enforce, deny: {}}"
	)
	for _, c := range []struct {
		name, spec, body string
		outcome          engine.Outcome
		blocks           bool
	}{
		{"default", "", unmet, engine.Error, true},
		{"fail", "failurePolicy: Fail", unmet, engine.Error, true},
		{"ignore", "failurePolicy: Ignore", unmet, engine.Error, false},
		{"a deny, ignored", "failurePolicy: Ignore", broken, engine.Error, false},
		{"a mutation", "", mutating, engine.Error, true},
		{"a mutation, ignored", "failurePolicy: Ignore", mutating, engine.Error, false},
		{"where it is written now", "webhookConfiguration: {failurePolicy: Ignore}", unmet, engine.Error, false},
		{"where it is written now, fail", "webhookConfiguration: {failurePolicy: Fail}", unmet, engine.Error, true},
		{"a violation", "failurePolicy: Ignore", violated, engine.Fail, true},
		{"a precondition in CEL, ignored", "failurePolicy: Ignore", "celPreconditions: [{name: c, expression: '1/0 == 1'}]\n" +
			"validate: {failureAction: Enforce, cel: {expressions: [{expression: 'true'}]}}", engine.Fail, true},
		{"an annotation in CEL", "", "validate: {failureAction: Enforce, cel: {expressions: [{expression: 'true'}], " +
			"auditAnnotations: [{key: k, valueExpression: object.nope.x}]}}", engine.Pass, true},
		{"a match condition", "webhookConfiguration: {matchConditions: [{name: c, expression: '1/0 == 1'}]}", violated,
			engine.Error, true},
		{"a match condition, ignored",
			"webhookConfiguration: {failurePolicy: Ignore, matchConditions: [{name: c, expression: '1/0 == 1'}]}", violated,
			engine.Error, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := strings.Replace(ruleOf(c.body), "spec:\n", "spec:\n  "+c.spec+"\n", 1)
			results := mustCompile(t, data).Bind(nil, nil).Evaluate(t.Context(),
				&admission.Request{Operation: admission.Create, Object: object(t, badPod)})
			if len(results) != 1 || results[0].Outcome != c.outcome || results[0].Enforce != c.blocks {
				t.Errorf("got %+v", results)
			}
		})
	}
}

package engine

import (
	"fmt"

	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

const fixes = ` ("lintel fix" rewrites it)`

// deprecated warns about fields that have moved
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#failure-action).
func deprecated(d policy.Document, p *policy.ClusterPolicy) []policy.Problem {
	var out []policy.Problem
	warn := func(pointer, old, now string) {
		out = append(out, d.Deprecation(pointer, "%s is deprecated: use %s", old, now))
	}
	s := &p.Spec
	fields := []struct {
		written  bool
		old, now string
	}{
		{s.ValidationFailureAction != "", "validationFailureAction", "failureAction under validate of each rule" + fixes},
		{s.ValidationFailureActionOverrides != nil, "validationFailureActionOverrides",
			"failureActionOverrides under validate of each rule" + fixes},
		{s.MutateExistingOnPolicyUpdate != nil, "mutateExistingOnPolicyUpdate",
			"mutateExistingOnPolicyUpdate under mutate of each rule" + fixes},
		{s.GenerateExisting != nil, "generateExisting", "generateExisting under generate of each rule" + fixes},
		{s.GenerateExistingOnPolicyUpdate != nil, "generateExistingOnPolicyUpdate",
			"generateExisting under generate of each rule" + fixes},
		{s.FailurePolicy != "", "failurePolicy", "failurePolicy under spec.webhookConfiguration"},
		{s.WebhookTimeoutSeconds != nil, "webhookTimeoutSeconds", "timeoutSeconds under spec.webhookConfiguration"},
		{s.SchemaValidation != nil, "schemaValidation", "nothing, it has no effect"},
	}
	for _, f := range fields {
		if f.written {
			warn("/spec/"+f.old, "spec."+f.old, f.now)
		}
	}
	for i, r := range s.Rules {
		at := fmt.Sprintf("/spec/rules/%d/", i)
		if direct(r.Match) {
			warn(at+"match", "a filter directly under match", "a list under match.any"+fixes)
		}
		if r.Exclude != nil && direct(*r.Exclude) {
			warn(at+"exclude", "a filter directly under exclude", "a list under exclude.any"+fixes)
		}
		if flat(r.Preconditions) {
			warn(at+"preconditions", "a list of conditions", "preconditions.all"+fixes)
		}
		v := r.Validate
		if v == nil {
			continue
		}
		if v.FailureAction == "enforce" || v.FailureAction == "audit" {
			warn(at+"validate/failureAction", v.FailureAction, map[string]string{"enforce": "Enforce",
				"audit": "Audit"}[v.FailureAction]+fixes)
		}
		if v.ValidationFailureAction != "" {
			warn(at+"validate/validationFailureAction", "validate.validationFailureAction", "validate.failureAction"+fixes)
		}
		if v.ValidationFailureActionOverrides != nil {
			warn(at+"validate/validationFailureActionOverrides", "validate.validationFailureActionOverrides",
				"validate.failureActionOverrides"+fixes)
		}
		if v.Deny != nil && flat(v.Deny.Conditions) {
			warn(at+"validate/deny/conditions", "a list of conditions", "deny.conditions.all"+fixes)
		}
	}
	return out
}

// direct reports whether a block is itself a filter and not a list of filters.
func direct(m policy.Match) bool {
	b, _ := match.Compile(m)
	return len(m.Any)+len(m.All) == 0 && !b.Empty()
}

// flat reports whether conditions are written as a list, without any or all.
func flat(conditions any) bool {
	list, ok := conditions.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	first, _ := list[0].(map[string]any)
	return first["operator"] != nil
}

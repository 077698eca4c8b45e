package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const termsOfRules = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: x, namespace: ns, labels: {cleanup.kyverno.io/ttl: 30d}, annotations: {why: a}}
spec:
  exceptions: [{policyName: p, ruleNames: [a, "b*"]}, {policyName: q, ruleNames: [c]}]
  match: {any: [{resources: {kinds: [Pod, Job], names: [one, two], namespaces: [n]}}, {resources: {kinds: [CronJob]}}]}
  conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: one}]}
`

const termsOfCEL = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec:
  policyRefs: [{name: v, kind: ValidatingPolicy}, {name: w, kind: ValidatingPolicy}]
  matchConditions: [{name: only, expression: "object.metadata.name == 'a'"}]
  images: [one, two]
  expiresAt: 2030-01-01T00:00:00Z
`

// An exception that lets through no more than before, for no longer, is within what it was; all that cannot be told
// from the texts is not.
func TestWithin(t *testing.T) {
	document := func(text string) engine.RuleDocument {
		return engine.RuleDocuments([]policy.Source{{Path: "x.yaml", Documents: yamltest.Documents(text)}})[0]
	}
	for _, c := range []struct {
		name, of, from, to string
		within, same       bool
	}{
		{"the same", termsOfRules, "", "", true, true},
		{"a comment", termsOfRules, "spec:", "# why\nspec:", true, true},
		{"an annotation", termsOfRules, "why: a", "why: b", true, true},
		{"a newer version of the API", termsOfRules, "v2\n", "v2beta1\n", true, true},
		{"another name", termsOfRules, "name: x", "name: y", false, false},
		{"another namespace", termsOfRules, "namespace: ns", "namespace: other", false, false},
		{"a rule less", termsOfRules, `[a, "b*"]`, "[a]", true, false},
		{"a rule instead of a pattern", termsOfRules, `"b*"`, "bee", true, false},
		{"a pattern below a pattern is not told", termsOfRules, `"b*"`, `"bb*"`, false, false},
		{"a rule more", termsOfRules, "[c]", "[c, d]", false, false},
		{"any rule", termsOfRules, "[c]", `["*"]`, false, false},
		{"a policy less", termsOfRules, ", {policyName: q, ruleNames: [c]}", "", true, false},
		{"another policy", termsOfRules, "policyName: q", "policyName: r", false, false},
		{"a rule of the other policy", termsOfRules, "[c]", "[a]", false, false},
		{"a name less", termsOfRules, "[one, two]", "[two]", true, false},
		{"a name more", termsOfRules, "[one, two]", "[one, two, three]", false, false},
		{"no names: all", termsOfRules, ", names: [one, two]", "", false, false},
		{"empty names: all", termsOfRules, "[one, two]", "[]", false, false},
		{"names like", termsOfRules, "[one, two]", `["*"]`, false, false},
		{"a name that a pattern matches", strings.Replace(termsOfRules, "one, two", `"web-*"`, 1), `"web-*"`, "web-a", true, false},
		{"a name that it does not match", strings.Replace(termsOfRules, "one, two", `"web-*"`, 1), `"web-*"`, "db-a", false, false},
		{"a namespace that a pattern matches", strings.Replace(termsOfRules, "[n]", `["n*"]`, 1), `"n*"`, "n1", true, false},
		{"a pattern of namespaces below a pattern is not told", strings.Replace(termsOfRules, "[n]", `["n*"]`, 1), `"n*"`, `"n1*"`, false, false},
		{"not in the background", termsOfRules, "spec:", "spec:\n  background: false", true, false},
		{"in the background again", strings.Replace(termsOfRules, "spec:", "spec:\n  background: false", 1), "false", "true", false, false},
		{"one more condition that has to hold", strings.Replace(termsOfRules, "any: [{key", "all: [{key", 1), "value: one}]",
			"value: one}, {key: a, operator: Equals, value: b}]", true, false},
		{"one condition less that has to hold", strings.Replace(termsOfRules, "any: [{key", "all: [{key: a, operator: Equals, value: b}, {key", 1),
			"{key: a, operator: Equals, value: b}, ", "", false, false},
		{"conditions that have to hold beside the others", termsOfRules, "value: one}]}", "value: one}], all: [{key: a, operator: Equals, value: b}]}", true, false},
		{"one more condition that is enough", termsOfRules, "value: one}]}", "value: one}, {key: a, operator: Equals, value: b}]}", false, false},
		{"one condition less that is enough may have made it void", strings.Replace(termsOfRules, "any: [{key", "any: [{key: a, operator: Equals, value: b}, {key", 1),
			"{key: a, operator: Equals, value: b}, ", "", false, false},
		{"a misspelled key of conditions is mended", strings.Replace(termsOfRules, "conditions: {any:", "conditions: {al:", 1), "{al:", "{all:", false, false},
		{"no condition that is enough: any", termsOfRules, `any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: one}]`,
			"any: []", false, false},
		{"no namespaces: all", termsOfRules, ", namespaces: [n]", "", false, false},
		{"operations, where there were none", termsOfRules, "{kinds: [CronJob]}", "{kinds: [CronJob], operations: [DELETE]}",
			true, false},
		{"a selector, where there was none", termsOfRules, "{kinds: [CronJob]}",
			"{kinds: [CronJob], selector: {matchLabels: {a: b}}}", true, false},
		{"somebody, where it was anybody", termsOfRules, "{resources: {kinds: [CronJob]}}",
			"{subjects: [{kind: User, name: u}], resources: {kinds: [CronJob]}}", true, false},
		{"an alternative less", termsOfRules, ", {resources: {kinds: [CronJob]}}", "", true, false},
		{"an alternative more", termsOfRules, "[CronJob]}}", "[CronJob]}}, {resources: {kinds: [Secret]}}", false, false},
		{"all in place of any", termsOfRules, "match: {any", "match: {all", false, false},
		{"another condition", termsOfRules, "value: one", "value: two", false, false},
		{"no condition", termsOfRules, "  conditions:", "  # conditions:", false, false},
		{"a control, where there was none", termsOfRules, "  conditions:",
			"  podSecurity: [{controlName: Capabilities}]\n  conditions:", true, false},
		{"one control less may have made it void", strings.Replace(termsOfRules, "  conditions:", "  podSecurity: [{controlName: Capabilities}, {controlName: Sysctls}]\n  conditions:", 1),
			", {controlName: Sysctls}", "", false, false},
		{"another control", strings.Replace(termsOfRules, "  conditions:", "  podSecurity: [{controlName: Capabilities}]\n  conditions:", 1),
			"Capabilities", "Sysctls", false, false},
		{"no controls: all", strings.Replace(termsOfRules, "  conditions:", "  podSecurity: [{controlName: Capabilities}]\n  conditions:", 1),
			"  podSecurity: [{controlName: Capabilities}]\n", "", false, false},
		{"a shorter time", termsOfRules, "30d", "29d", true, false},
		{"a longer time", termsOfRules, "30d", "31d", false, false},
		{"a date in place of a duration", termsOfRules, "30d", "'2020-01-01'", false, false},
		{"no end", termsOfRules, "cleanup.kyverno.io/ttl: 30d", "", false, false},
		{"a policy in CEL less", termsOfCEL, ", {name: w, kind: ValidatingPolicy}", "", true, false},
		{"a policy in CEL more", termsOfCEL, "}]\n  match", "}, {name: u, kind: ValidatingPolicy}]\n  match", false, false},
		{"another kind of policy", termsOfCEL, "w, kind: Validating", "w, kind: Mutating", false, false},
		{"a condition in CEL more", termsOfCEL, "'a'\"}]", "'a'\"}, {name: b, expression: 'true'}]", true, false},
		{"a condition in CEL less", termsOfCEL, "  matchConditions:", "  # matchConditions:", false, false},
		{"another condition in CEL", termsOfCEL, "== 'a'", "!= ''", false, false},
		{"an image less", termsOfCEL, "[one, two]", "[two]", true, false},
		{"an image more", termsOfCEL, "[one, two]", "[one, two, three]", false, false},
		{"no images: the policy as a whole", termsOfCEL, "  images:", "  # images:", false, false},
		{"values besides images", termsOfCEL, "  images:", "  allowedValues: [x]\n  images:", false, false},
		{"images, where it was the policy as a whole", strings.Replace(termsOfCEL, "  images:", "  # images:", 1),
			"  # images:", "  images:", true, false},
		{"an earlier end", termsOfCEL, "2030", "2029", true, false},
		{"a later end", termsOfCEL, "2030", "2031", false, false},
		{"another result in reports", termsOfCEL, "  images:", "  reportResult: pass\n  images:", true, false},
		{"a result in reports that is one", strings.Replace(termsOfCEL, "  images:", "  reportResult: no\n  images:", 1),
			"reportResult: no", "reportResult: pass", false, false},
		{"other properties", termsOfCEL, "  images:", "  properties: {ticket: '1'}\n  images:", true, false},
		{"no end in CEL", termsOfCEL, "  expiresAt:", "  # expiresAt:", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := strings.Replace(c.of, c.from, c.to, 1)
			if c.from != "" && now == c.of {
				t.Fatal("nothing differs")
			}
			d, old := document(now), document(c.of)
			if within, same := d.Within(old), d.SameTerms(old); within != c.within || same != c.same {
				t.Errorf("within %v, same %v; want %v, %v", within, same, c.within, c.same)
			}
		})
	}
}

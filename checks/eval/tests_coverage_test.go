package eval

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

const coveredPolicies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: covered}
spec:
  rules:
  - name: both
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {labels: {a: "?*"}}}}
  - name: passes
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
  - name: unreached
    match: {any: [{resources: {kinds: [Service]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
  - name: changes
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {added: "yes"}}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: whole}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name != 'b'", message: m}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: generates}
spec:
  rules:
  - name: later
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: x, namespace: y, data: {}}
`

// Rows also reach rules through their generated forms; rules that are not evaluated before merge are left out.
func TestCoverage(t *testing.T) {
	const objects = `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: a}]}
`
	head := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [../p.yaml]\nresources: [../o.yaml]\nresults:\n"
	row := func(policy, rule, resource, result string) string {
		return fmt.Sprintf("- {policy: %s, rule: %s, resources: [%s], result: %s}\n", policy, rule, resource, result)
	}
	files := fstest.MapFS{
		"p.yaml": {Data: []byte(coveredPolicies)}, "o.yaml": {Data: []byte(objects)},
		"one/" + TestName: {Data: []byte(head + row("covered", "both", "d", "pass") + row("covered", "passes", "a", "pass") +
			row("covered", "changes", "a", "pass") + row("whole", `""`, "a", "pass"))},
		"two/" + TestName: {Data: []byte(head + row("covered", "both", "p", "fail") + row("covered", "unreached", "a", "pass"))},
	}
	tests, err := FindTests(files, ".", TestName)
	if err != nil {
		t.Fatal(err)
	}
	run, err := RunTests(t.Context(), TestInput{Files: files, Tests: tests, Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range run.Coverage {
		got = append(got, fmt.Sprintf("%s:%d %s/%s %v %s", c.Path, c.Line, c.Policy, c.Rule, c.Results, c.Gap()))
	}
	want := []string{
		"p.yaml:6 covered/both [fail pass] ",
		"p.yaml:9 covered/passes [pass] it only ever passes",
		"p.yaml:12 covered/unreached [] no row reaches it",
		"p.yaml:15 covered/changes [pass] ",
		"p.yaml:19 whole/ [pass] it only ever passes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if run, err = RunTests(t.Context(), TestInput{Files: files, Tests: tests}); err != nil || run.Coverage != nil {
		t.Errorf("coverage that nobody asked for: %v, %v", run.Coverage, err)
	}
}

// Long names of generated rules are cut.
func TestFormOf(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct {
		written, rule string
		want          bool
	}{
		{"a", "a", true}, {"a", "autogen-a", true}, {"a", "autogen-cronjob-a", true}, {"a", "autogen-b", false}, {"a", "b", false},
		{long, ("autogen-" + long)[:63], true}, {long, ("autogen-cronjob-" + long)[:63], true},
		{"b" + long, ("autogen-" + long)[:63], false},
	} {
		if got := formOf(c.written, c.rule); got != c.want {
			t.Errorf("%s, %s: %v", c.written, c.rule, got)
		}
	}
}

// With Strict, a row without a comparison fails, and a test or a run without rows is an error.
func TestStrict(t *testing.T) {
	head := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [p.yaml]\nresources: [o.yaml]\nresults:"
	for name, c := range map[string]struct {
		results        string
		strict         bool
		failed, errors int
	}{
		"nothing compared":         {" [{policy: covered, rule: both, resources: [a], result: skip}]", false, 0, 0},
		"nothing compared, strict": {" [{policy: covered, rule: both, resources: [a], result: skip}]", true, 1, 0},
		"compared":                 {" [{policy: covered, rule: passes, resources: [a], result: pass}]", true, 0, 0},
		"no rows":                  {" []", false, 0, 0},
		"no rows, strict":          {" []", true, 0, 1},
		"none of these":            {" [{policy: other, rule: passes, resources: [a], result: pass}]", true, 0, 1},
	} {
		files := fstest.MapFS{"p.yaml": {Data: []byte(coveredPolicies)},
			"o.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}, TestName: {Data: []byte(head + c.results)}}
		in := TestInput{Files: files, Tests: []string{TestName}, Strict: c.strict,
			Match: func(policy, _, _ string) bool { return policy == "covered" }}
		run, err := RunTests(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if run.Summary.Failed != c.failed || len(run.Errors) != c.errors || run.OK() != (c.failed+c.errors == 0) {
			t.Errorf("%s: %+v %+v", name, run.Summary, run.Errors)
		}
		for i := range run.Rows {
			if r := &run.Rows[i]; c.strict && r.Excluded || r.Excluded && r.OK {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

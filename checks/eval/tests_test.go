package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lintel-bot/lintel/checks/report"
)

const (
	policyText = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tag}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: A tag is needed., pattern: {spec: {containers: [{image: "*:*"}]}}}
  - name: look
    match: {any: [{resources: {kinds: [Secret]}}]}
    context: [{name: c, configMap: {name: c, namespace: default}}]
    validate: {message: no., deny: {conditions: {all: [{key: "{{ c.data.a }}", operator: Equals, value: b}]}}}
  - name: quota
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: a, namespace: b, data: {data: {a: b}}}
---
apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {name: sweep}
spec: {match: {any: [{resources: {kinds: [Pod]}}]}, schedule: "* * * * *"}
`
	podText = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: %q}]}\n---\n"
)

func testFiles(results string) fstest.MapFS {
	return fstest.MapFS{
		"p/policy.yaml": {Data: []byte(policyText)},
		"p/t/res.yaml": {Data: []byte(fmt.Sprintf(podText, "good", "a:1") + fmt.Sprintf(podText, "bad", "a") +
			fmt.Sprintf(podText, "good", "again") +
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")},
		"p/t/cluster.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n")},
		"p/t/" + TestName: {Data: []byte("apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [../policy.yaml]\n" +
			"resources: [res.yaml]\n" + results)},
	}
}

func runTests(t *testing.T, f fstest.MapFS, change func(*TestInput)) *report.TestRun {
	t.Helper()
	tests, err := FindTests(f, ".", TestName)
	if err != nil {
		t.Fatal(err)
	}
	in := TestInput{Files: f, Tests: tests, Now: conformanceNow}
	if change != nil {
		change(&in)
	}
	r, err := RunTests(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRows(t *testing.T) {
	for name, c := range map[string]struct {
		results string
		want    []string // name, actual result, ok/failed/excluded
	}{
		"as expected": {"results: [{policy: tag, rule: tag, resources: [good], result: pass}]",
			[]string{"good pass ok"}},
		"not as expected": {"results: [{policy: tag, rule: tag, resources: [good, bad], result: pass}]",
			[]string{"good pass ok", "bad fail failed"}},
		"namespace": {"results: [{policy: ns/tag, rule: tag, resources: [default/bad], result: fail}]",
			[]string{"bad fail ok"}},
		"no such object": {"results: [{policy: tag, rule: tag, resources: [typo], result: pass}]",
			[]string{"good pass ok", "bad fail failed", "s  excluded: no rule gave a result"}},
		"no rule named": {"results: [{policy: tag, resources: [bad], result: fail}]", []string{"bad fail ok"}},
		"no such rule": {"results: [{policy: tag, rule: typo, resources: [bad], result: pass}]",
			[]string{"bad  excluded: " + noRule}},
		"no such policy": {"results: [{policy: typo, rule: tag, resources: [bad], result: pass}]",
			[]string{"bad  failed"}},
		"rule not evaluated before merge": {"results: [{policy: tag, rule: quota, resources: [good], result: pass}]",
			[]string{"good  excluded: " + notEvaluated}},
		"a policy elsewhere": {"results: [{policy: sweep, resources: [good], result: pass}]",
			[]string{"good  excluded: " + notEvaluated}},
		"no such result": {"results: [{policy: tag, rule: tag, resources: [good], result: passed}]",
			[]string{"good pass failed"}},
		"not known": {"results: [{policy: tag, rule: look, resources: [s], result: pass}]",
			[]string{"s unknown failed"}},
		"an error, not known": {"results: [{policy: tag, rule: look, resources: [s], result: error}]",
			[]string{"s unknown ok"}},
		"looked up": {"clusterResources: [cluster.yaml]\n" +
			"results: [{policy: tag, rule: look, resources: [s], result: fail}]", []string{"s fail ok"}},
		"values": {"values: {globalValues: {c.data.a: x}}\n" +
			"results: [{policy: tag, rule: look, resources: [s], result: pass}]", []string{"s pass ok"}},
		"two tests of one file": {"results: [{policy: tag, rule: tag, resources: [good], result: pass}]\n---\n" +
			"apiVersion: a\nkind: Test\npolicies: [../policy.yaml]\nresources: [res.yaml]\n" +
			"results: [{policy: tag, rule: tag, resources: [bad], result: fail}]", []string{"good pass ok", "bad fail ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := runTests(t, testFiles(c.results), nil)
			if len(r.Errors) > 0 {
				t.Fatal(r.Errors)
			}
			var got []string
			for _, row := range r.Rows {
				state := map[bool]string{true: "ok", false: "failed"}[row.OK]
				if row.Excluded {
					state = "excluded: " + row.Reason
				}
				got = append(got, row.Resource.Name+" "+string(row.Actual)+" "+state)
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A Context replaces the cluster and the registries of a test: objects and images that it lacks do not exist.
func TestContext(t *testing.T) {
	f := testFiles("context: context.yaml\nresults: [{policy: arch, resources: [good, bad], result: pass}, {policy: limit, " +
		"resources: [good], result: pass}]")
	f["p/t/context.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\n" +
		"metadata: {name: c}\nspec:\n" +
		"  resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: b}}]\n" +
		"  images: [{image: 'a:1', config: {architecture: amd64}}, {image: a, config: {architecture: arm64}}, {}]\n")}
	const head = "\n---\napiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: %s}\nspec:\n" +
		"  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: " +
		"[pods]}]\n  validations: [{expression: %q}]\n"
	f["p/policy.yaml"] = &fstest.MapFile{Data: []byte(policyText +
		fmt.Sprintf(head, "arch", "object.spec.containers.map(c, c.image).all(i, image.GetMetadata(i).config.architecture == 'amd64' && "+
			"image.GetMetadata(i).registry == '')") +
		fmt.Sprintf(head, "limit", "resource.Get('v1', 'configmaps', 'default', 'c').data.a == 'b' && resource.Get('v1', "+
			"'configmaps', 'default', 'd') == null"))}
	var got []string
	r := runTests(t, f, nil)
	for _, row := range r.Rows {
		got = append(got, row.Policy+" "+row.Resource.Name+" "+string(row.Actual))
	}
	if want := []string{"arch good pass", "arch bad fail", "limit good pass"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q; %v", got, want, r.Errors)
	}
}

func TestBrokenFiles(t *testing.T) {
	f := testFiles("results: [{policy: tag, rule: tag, resources: [good], result: pass}]")
	add := func(name, text string) { f[name+"/"+TestName] = &fstest.MapFile{Data: []byte(text)} }
	const head = "apiVersion: a\nkind: Test\n"
	add("a", "kind: [\n")
	add("b", head+"name: old\n")
	add("c", "# empty\n")
	add("d", head+"policies: [../../x.yaml]\n")
	add("e", head+"policies: [../p/t/res.yaml/x]\nresources: [none]\n")
	add("f", head+"policies: [../bad.yaml]\nresources: [../p/t/res.yaml]\n"+
		"results: [{policy: bad, resources: [good], result: pass}]\n")
	f["bad.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n" +
		"metadata: {name: bad}\n" +
		"spec: {rule: []}\n")}
	r := runTests(t, f, nil)
	if r.OK() || r.Summary.Passed != 1 || r.Summary.Failed != 0 || r.Summary.Excluded != 1 || r.Summary.Files != 7 {
		t.Errorf("%+v", r.Summary)
	}
	broken := map[string]bool{}
	for _, e := range r.Errors {
		broken[e.Path] = true
		if strings.Contains(e.Message, "open ") {
			t.Errorf("a path of the machine: %s", e)
		}
	}
	for _, name := range []string{"a/", "b/", "c/", "d/", "e/"} {
		if !broken[name+TestName] {
			t.Errorf("%s is not reported: %v", name, r.Errors)
		}
	}
	if !broken["bad.yaml"] {
		t.Errorf("the broken policy is not reported: %v", r.Errors)
	}
}

// The report does not depend on the number of concurrent tests.
func TestWorkers(t *testing.T) {
	f := fstest.MapFS{}
	for i := range 20 {
		for name, file := range testFiles("results: [{policy: tag, rule: tag, resources: [good, bad], result: pass}]") {
			f[fmt.Sprintf("%02d/%s", i, name)] = file
		}
	}
	one, _ := json.Marshal(runTests(t, f, func(in *TestInput) { in.Workers = 1 }))
	many, _ := json.Marshal(runTests(t, f, func(in *TestInput) { in.Workers = 8 }))
	if string(one) != string(many) {
		t.Errorf("%s\n%s", one, many)
	}
}

func TestCanceled(t *testing.T) {
	f := testFiles("results: []")
	tests, _ := FindTests(f, ".", TestName)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := RunTests(ctx, TestInput{Files: f, Tests: tests}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzTestFile(f *testing.F) {
	f.Add("results: [{policy: tag, rule: tag, resources: [good], result: pass}]")
	f.Add("values: {globalValues: {request.operation: DELETE, request.object.metadata.name: [1]}}\n" +
		"results: [{policy: tag, patchedResources: res.yaml}]")
	f.Add("userinfo: res.yaml\nvariables: cluster.yaml\ncontext: cluster.yaml\ntargetResources: [.]\nexceptions: ['.']\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := runTests(t, testFiles(text), nil)
		for _, e := range r.Errors {
			if strings.Contains(e.Message, "internal error") {
				t.Error(e)
			}
		}
	})
}

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// encode is a result list as bytes. Exceptions are named, since they have no exported rules.
func encode(t testing.TB, results []engine.Result) []byte {
	t.Helper()
	out, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func requests(n int) []*admission.Request {
	var out []*admission.Request
	objects := resources(n)
	for i, o := range objects {
		r := &admission.Request{Operation: admission.Create, Object: o}
		switch i % 3 {
		case 1:
			r.Operation, r.OldObject = admission.Update, objects[(i+10)%n]
		case 2:
			r.Operation, r.Object, r.OldObject = admission.Delete, nil, o
		}
		out = append(out, r)
	}
	return out
}

func TestEvaluationIsRepeatable(t *testing.T) {
	e := podPolicies(t).Bind(nil, nil)
	all := requests(60)
	want := make([][]byte, len(all))
	for i, r := range all {
		want[i] = encode(t, e.Evaluate(context.Background(), r))
	}
	for i, r := range slices.Backward(all) {
		if got := encode(t, e.Evaluate(context.Background(), r)); !bytes.Equal(got, want[i]) {
			t.Fatalf("in another order: got %s, want %s", got, want[i])
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, r := range all {
				if got := encode(t, e.Evaluate(context.Background(), r)); !bytes.Equal(got, want[i]) {
					t.Errorf("in parallel: got %s, want %s", got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestEvaluationLeavesItsInput(t *testing.T) {
	data := ruleOf("mutate: {patchStrategicMerge: {metadata: {labels: {+(x): z}}, spec: {containers: [{(name): '*', "+
		"imagePullPolicy: Always}]}}}") + "---\n" +
		ruleOf("mutate: {foreach: [{list: request.object.spec.containers, patchesJson6902: \"- {op: add, path: "+
			"'/spec/containers/{{elementIndex}}/tty', value: true}\"}]}") + "---\n" +
		ruleOf("context: [{name: c, variable: {jmesPath: request.object.spec.containers}}]\n"+
			"validate: {foreach: [{list: c, deny: {conditions: {any: [{key: '{{ element.image }}', operator: Equals, value: "+
			"x}]}}}]}")
	for name, e := range map[string]*engine.Evaluator{
		"validate": podPolicies(t).Bind(nil, nil), "mutate": mustCompile(t, data).Bind(nil, nil),
	} {
		for _, r := range requests(30) {
			object, old := runtime.DeepCopyJSON(r.Object), runtime.DeepCopyJSON(r.OldObject)
			e.Evaluate(context.Background(), r)
			if !reflect.DeepEqual(object, r.Object) || !reflect.DeepEqual(old, r.OldObject) {
				t.Fatalf("%s: the request was changed", name)
			}
		}
	}
}

func TestFieldsAreInTheObject(t *testing.T) {
	e := podPolicies(t).Bind(nil, nil)
	for _, r := range requests(60) {
		for _, res := range e.Evaluate(context.Background(), r) {
			if (res.Outcome == engine.Fail) != (len(res.Fields) > 0) {
				t.Errorf("%s %s: fields %v", res.Policy.Name, res.Outcome, res.Fields)
			}
			if !slices.IsSorted(res.Fields) || len(slices.Compact(slices.Clone(res.Fields))) != len(res.Fields) {
				t.Errorf("%s: fields %v are not sorted and unique", res.Policy.Name, res.Fields)
			}
			for _, f := range res.Fields {
				if f == "" {
					t.Errorf("%s: nothing narrower than the object is named: %s", res.Policy.Name, res.Message)
				}
			}
		}
	}
}

// An exception can turn a failure into a skip, but nothing into a failure.
func TestExceptionsNeverMakeFailures(t *testing.T) {
	policies := podPolicies(t)
	before := policies.Bind(nil, nil)
	for _, info := range policies.List() {
		data := fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: x, namespace: ns}\n"+
			"spec: {exceptions: [{policyName: %s, ruleNames: ['*']}], match: {any: [{resources: {namespaces: ['ns-1*']}}]}, "+
			"conditions: {any: [{key: '{{ request.object.metadata.labels.team }}', operator: AnyIn, value: [team-1, team-2, "+
			"team-3]}]}}\n", info.Name)
		after := policies.Bind(mustExceptions(t, data), nil)
		for _, r := range requests(40) {
			was := map[string]engine.Outcome{}
			for _, res := range before.Evaluate(context.Background(), r) {
				was[res.Policy.Name+"/"+res.Rule] = res.Outcome
			}
			for _, res := range after.Evaluate(context.Background(), r) {
				key := res.Policy.Name + "/" + res.Rule
				if was[key] != res.Outcome && (res.Outcome != engine.Skip || len(res.Exceptions) != 1) {
					t.Errorf("%s: %q became %s by %d exceptions", key, was[key], res.Outcome, len(res.Exceptions))
				}
				delete(was, key)
			}
			if len(was) > 0 {
				t.Errorf("results are gone: %v", was)
			}
		}
	}
}

func FuzzCompilePolicies(f *testing.F) {
	files, _ := filepath.Glob("testdata/policies/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(ruleOf("mutate: {patchStrategicMerge: {spec: {hostPID: false}}}")))
	f.Add([]byte(ruleOf("context: [{name: a, apiCall: {urlPath: '/api/v1/{{ request.namespace }}'}}]\n" +
		"validate: {podSecurity: {level: baseline}}")))
	f.Add([]byte(ruleOf("validate: {cel: {expressions: [{expression: 'object.spec.hostPID == false'}]}}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problems := engine.CompilePolicies([]policy.Source{{Path: "p", Documents: yamltest.Documents(data)}},
			engine.Options{Now: conformanceNow})
		for _, problem := range problems {
			if problem.Message == "" || problem.Path != "p" {
				t.Errorf("problem %+v", problem)
			}
		}
		e := p.Bind(nil, nil)
		for _, r := range requests(6) {
			for _, res := range e.Evaluate(context.Background(), r) {
				if res.Outcome == engine.Fail && len(res.Fields) == 0 {
					t.Errorf("no fields: %+v", res)
				}
			}
		}
	})
}

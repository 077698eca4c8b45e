package rules

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// result is the part of a result that a fix must not change.
type result struct {
	Policy, Rule, Message string
	Outcome               engine.Outcome
	Enforce               bool
	Fields                []string
}

func resultsOf(t *testing.T, data []byte, objects []admission.Object) []result {
	t.Helper()
	policies, problems := engine.CompilePolicies(ForEngine([]File{{Path: "p.yaml", Data: data}}),
		engine.Options{Now: time.Unix(1_767_268_800, 0)})
	if policy.HasErrors(problems) {
		return nil
	}
	e := policies.Bind(nil, nil)
	var out []result
	for _, o := range objects {
		for _, r := range []*admission.Request{{Operation: admission.Create, Object: o},
			{Operation: admission.Delete, OldObject: o}} {
			for _, res := range e.Evaluate(context.Background(), r) {
				out = append(out, result{res.Policy.Name, res.Rule, res.Message, res.Outcome, res.Enforce, res.Fields})
			}
		}
	}
	return out
}

func small(t *testing.T, spec string) []byte {
	t.Helper()
	return []byte("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n" + spec)
}

// A policy has the same results before and after its fix.
func TestFixDoesNotChangeResults(t *testing.T) {
	var objects []admission.Object
	for _, data := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default, labels: {app: web}}\n" +
			"spec: {containers: [{name: c, image: nginx}]}",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: test}\n" +
			"spec: {hostPID: true, containers: [{name: c, image: 'nginx:1'}]}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: prod, labels: {app: db}}\n" +
			"spec: {template: {spec: {hostPID: true, containers: [{name: c, image: x}]}}}",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: test, labels: {app: web}}",
	} {
		docs, _ := File{Data: []byte(data)}.Documents()
		objects = append(objects, docs[0].Value().(map[string]any))
	}
	const deny = "    validate: {message: m, deny: {}}\n"
	tests := map[string]string{
		"action": "  validationFailureAction: enforce\n  rules:\n  - name: r\n" +
			"    match: {resources: {kinds: [Pod]}}\n" + deny,
		"overrides": "  validationFailureAction: audit\n  validationFailureActionOverrides:\n  - action: enforce\n" +
			"    namespaces: [test, prod]\n  rules:\n  - name: r\n    match:\n      resources:\n        kinds:\n" +
			"        - Pod\n" +
			"    validate:\n      message: m\n      pattern: {spec: {=(hostPID): false}}\n",
		"own action": "  validationFailureAction: enforce\n" +
			"  validationFailureActionOverrides: [{action: enforce, namespaces: [test]}]\n  rules:\n  - name: r\n" +
			"    match: {resources: {kinds: [Pod, Deployment, Namespace]}}\n" +
			"    validate: {failureAction: audit, message: m, deny: {}}\n  - name: s\n" +
			"    match: {resources: {kinds: [Namespace]}}\n    exclude: {resources: {names: [x]}}\n" +
			"    validate: {validationFailureAction: enforce, message: m, deny: {}}\n",
		"flat conditions": "  rules:\n  - name: r\n    match: {resources: {kinds: [Pod]}}\n    preconditions:\n" +
			"    - {key: '{{ request.operation }}', operator: In, value: [CREATE]}\n" +
			"    - {key: '{{ request.object.metadata.labels.app || `[]` | to_string(@) }}', operator: NotIn, value: [db, " +
			"'[]']}\n" + deny,
		"several deny": "  rules:\n  - name: r\n    match: {resources: {kinds: [Pod]}}\n    validate:\n" +
			"      message: m\n      deny:\n        conditions:\n" +
			"        - {key: '{{ request.object.spec.containers[].image || `[]` }}', operator: In, value: [nginx, " +
			"'nginx:1']}\n" +
			"        - {key: '{{ request.operation }}', operator: NotEqual, value: DELETE}\n",
		"exclude by users": "  background: false\n  validationFailureAction: Enforce\n  rules:\n  - name: r\n" +
			"    match: {resources: {kinds: [Pod]}, clusterRoles: [admin]}\n" +
			"    exclude: {clusterRoles: [x], resources: {namespaces: [test]}}\n" + deny,
		"mutation": "  validationFailureAction: Enforce\n  rules:\n  - name: r\n" +
			"    match: {resources: {kinds: [Pod]}}\n    mutate: {patchStrategicMerge: {metadata: {labels: {+(a): b}}}}\n",
	}
	for name, spec := range tests {
		t.Run(name, func(t *testing.T) {
			before := small(t, spec)
			r := Fix(File{Path: "p.yaml", Data: before})
			if len(r.Edits) == 0 {
				t.Fatal("nothing was fixed")
			}
			want := resultsOf(t, before, objects)
			if len(want) == 0 {
				t.Fatal("the policy has no results")
			}
			if diff := cmp.Diff(want, resultsOf(t, r.Data, objects)); diff != "" {
				t.Errorf("(-before +after):\n%s\n%s", diff, r.Data)
			}
		})
	}
}

// The policies of the public library also have the same results for the resources beside them.
func TestFixDoesNotChangeResultsOfTheLibrary(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "conformance")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the conformance cases are not here")
	}
	files := map[string][]File{} // by folder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder := filepath.Dir(path)
		if name := filepath.Base(folder); name == ".kyverno-test" || name == ".chainsaw-test" {
			folder = filepath.Dir(folder)
		}
		files[folder] = append(files[folder], File{Path: path, Data: data})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, folder := range slices.Sorted(maps.Keys(files)) {
		if i%4 != 0 {
			continue // compiling all of them twice takes too long
		}
		sources := files[folder]
		var objects []admission.Object
		for _, s := range sources {
			docs, _ := s.Documents()
			for _, d := range docs {
				if o, ok := d.Value().(map[string]any); ok {
					objects = append(objects, o)
				}
			}
		}
		for _, s := range sources {
			r := Fix(s)
			if bytes.Equal(r.Data, s.Data) {
				continue
			}
			want := resultsOf(t, s.Data, objects)
			compared += len(want)
			if diff := cmp.Diff(want, resultsOf(t, r.Data, objects)); diff != "" {
				t.Errorf("%s: %s (-before +after):\n%s", folder, s.Path, diff)
			}
		}
	}
	if compared < 300 {
		t.Errorf("only %d results were compared", compared)
	}
}

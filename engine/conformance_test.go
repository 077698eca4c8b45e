package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// The floors are what this engine has reached; a change that falls below one is a regression.
const (
	admissionFloor = 182
	rowsFloor      = 2280
	goldensFloor   = 2795
)

var conformanceNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func conformanceDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "shared", "conformance"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the conformance cases are not here")
	}
	return dir
}

// tally counts right answers by category.
type tally struct{ right, total map[string]int }

func newTally() *tally { return &tally{map[string]int{}, map[string]int{}} }

func (c *tally) add(category string, right bool) {
	for _, k := range []string{category, "all"} {
		c.total[k]++
		if right {
			c.right[k]++
		}
	}
}

func (c *tally) report(t *testing.T, what string, floor int) {
	t.Helper()
	var names []string
	for k := range c.total {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Printf("%s %s: %d/%d\n", what, k, c.right[k], c.total[k])
	}
	if c.right["all"] < floor {
		t.Errorf("%s: %d right, the floor is %d", what, c.right["all"], floor)
	}
}

func read(t testing.TB, path string) []policy.Source {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return []policy.Source{{Path: filepath.Base(path), Data: data}}
}

func objects(t testing.TB, sources []policy.Source) []admission.Object {
	t.Helper()
	var out []admission.Object
	for _, s := range sources {
		docs, _ := policy.Documents(s)
		for _, d := range docs {
			if o, ok := d.Value().(map[string]any); ok {
				out = append(out, o)
			}
		}
	}
	return out
}

// declared is a cluster of some objects.
type declared []admission.Object

func (c declared) Get(_ context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	for _, o := range c {
		id := admission.IdentityOf(o)
		if id.Group == group && id.Kind == kind && id.Name == name && (id.Namespace == namespace || id.Namespace == "" && namespace == "default") {
			return o, true
		}
	}
	return nil, false
}

func (c declared) List(_ context.Context, group, kind, namespace string) []admission.Object {
	var out []admission.Object
	for _, o := range c {
		id := admission.IdentityOf(o)
		if id.Group == group && id.Kind == kind && (namespace == "" || id.Namespace == namespace) {
			out = append(out, o)
		}
	}
	return out
}

func TestConformanceAdmission(t *testing.T) {
	dir := filepath.Join(conformanceDir(t), "admission")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	counts := newTally()
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		var c struct {
			Test, Expect string
			Update       bool
			Kind         string
		}
		data, err := os.ReadFile(filepath.Join(at, "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		got, why := decide(t, at, c.Update)
		counts.add(strings.Join(strings.SplitN(c.Test, "/", 3)[:2], "/"), got == c.Expect)
		if got != c.Expect {
			t.Logf("%s %s: want %s, got %s: %s", e.Name(), c.Test, c.Expect, got, why)
		}
	}
	counts.report(t, "admission", admissionFloor)
}

// decide answers as the API server would: allow, warn or deny, or what kept the engine from an answer.
func decide(t testing.TB, at string, update bool) (answer, why string) {
	t.Helper()
	options := engine.Options{Now: conformanceNow}
	policies, problems := engine.CompilePolicies(read(t, filepath.Join(at, "policies.yaml")), options)
	exceptions, more := engine.CompileExceptions(read(t, filepath.Join(at, "exceptions.yaml")), options)
	if all := append(problems, more...); policy.HasErrors(all) {
		i := slices.IndexFunc(all, func(p policy.Problem) bool { return !p.Warning })
		return "problem", all[i].String()
	}
	setup := objects(t, slices.Concat(read(t, filepath.Join(at, "setup.yaml")), read(t, filepath.Join(at, "policies.yaml"))))
	labels := namespaceLabels(t, read(t, filepath.Join(at, "values.yaml")))
	answer = "allow"
	for _, o := range objects(t, read(t, filepath.Join(at, "resource.yaml"))) {
		r := &admission.Request{Operation: admission.Create, Object: o, UserInfo: admission.UserInfo{
			Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}}}
		id := admission.IdentityOf(o)
		if id.Namespace == "" && !clusterScoped[id.Kind] {
			o["metadata"].(map[string]any)["namespace"] = "default"
			id.Namespace = "default"
		}
		if update {
			r.Operation = admission.Update
			if old, ok := declared(setup).Get(context.Background(), id.Group, id.Kind, id.Namespace, id.Name); ok {
				r.OldObject = old
				old["metadata"].(map[string]any)["namespace"] = id.Namespace
			}
		}
		if id.Namespace != "" {
			r.Namespace = namespaceNamed(id.Namespace, labels[id.Namespace], setup)
		}
		for _, res := range policies.Bind(exceptions, declared(setup)).Evaluate(context.Background(), r) {
			bad := res.Outcome == engine.Fail && !res.Tolerated || res.Outcome == engine.Error || res.Outcome == engine.Unknown
			switch {
			case bad && res.Enforce:
				answer = "deny"
				if res.Outcome == engine.Unknown {
					answer = "unknown"
				}
			case bad && answer == "allow" && res.Warn:
				answer = "warn"
			}
			why += fmt.Sprintf("[%s/%s %s enforce=%v %s] ", res.Policy.Name, res.Rule, res.Outcome, res.Enforce, res.Message)
		}
	}
	return answer, why
}

var clusterScoped = map[string]bool{
	"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true, "CertificateSigningRequest": true,
	"PersistentVolume": true, "StorageClass": true, "CustomResourceDefinition": true, "Node": true,
}

func namespaceNamed(name string, labels map[string]string, setup []admission.Object) admission.Object {
	out := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
	merged := map[string]any{}
	if o, ok := declared(setup).Get(context.Background(), "", "Namespace", "", name); ok {
		if m, ok := o["metadata"].(map[string]any)["labels"].(map[string]any); ok {
			for k, v := range m {
				merged[k] = v
			}
		}
	}
	for k, v := range labels {
		merged[k] = v
	}
	out["metadata"].(map[string]any)["labels"] = merged
	return out
}

func TestConformanceRows(t *testing.T) {
	dir := conformanceDir(t)
	goldens := readGoldens(t, dir)
	rows, texts := newTally(), newTally()
	for _, part := range []string{"policies", "cli"} {
		err := filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != "kyverno-test.yaml" {
				return err
			}
			at, _ := filepath.Rel(dir, filepath.Dir(path))
			checkTestFile(t, path, at, goldens[at], rows, texts)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows.report(t, "rows", rowsFloor)
	texts.report(t, "goldens", goldensFloor)
}

// golden is one answer of Kyverno.
type golden struct{ Dir, Kind, Message, Name, Namespace, Policy, Result, Rule string }

func readGoldens(t testing.TB, dir string) map[string][]golden {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string][]golden{}
	for _, g := range all {
		out[g.Dir] = append(out[g.Dir], g)
	}
	return out
}

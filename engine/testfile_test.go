package engine_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// testFile is a kyverno-test.yaml (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
type testFile struct {
	Policies, Resources, Exceptions []string
	TargetResources                 []string
	Variables, UserInfo             string
	Values                          *valuesSpec
	ClusterResources                []string
	Results                         []struct {
		Policy, Rule, Result, PatchedResources string
		Resources                              []string
	}
}

type valuesSpec struct {
	GlobalValues map[string]any
	Policies     []struct {
		Name      string
		Resources []struct {
			Name   string
			Values map[string]any
		}
		Rules []struct {
			Name          string
			Values        map[string]any
			ForeachValues map[string][]any
		}
	}
	NamespaceSelector []struct {
		Name   string
		Labels map[string]string
	}
	Namespaces []struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
	}
}

func (v *valuesSpec) labels() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, n := range v.NamespaceSelector {
		out[n.Name] = n.Labels
	}
	for _, n := range v.Namespaces {
		out[n.Metadata.Name] = n.Metadata.Labels
	}
	return out
}

func namespaceLabels(t testing.TB, sources []policy.Source) map[string]map[string]string {
	t.Helper()
	var v valuesSpec
	for _, s := range sources {
		if err := yaml.Unmarshal(s.Data, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v.labels()
}

// of are the values for a policy and an object.
func (v *valuesSpec) of(policy, object string) map[string]any {
	out := maps.Clone(v.GlobalValues)
	if out == nil {
		out = map[string]any{}
	}
	for _, p := range v.Policies {
		if p.Name != policy {
			continue
		}
		for _, r := range p.Resources {
			if r.Name == object {
				maps.Copy(out, r.Values)
			}
		}
	}
	return out
}

func (v *valuesSpec) ofRule(policy, rule string) map[string]any {
	out := map[string]any{}
	rule = strings.TrimPrefix(strings.TrimPrefix(rule, "autogen-"), "cronjob-")
	for _, p := range v.Policies {
		for _, r := range p.Rules {
			if p.Name == policy && r.Name == rule {
				maps.Copy(out, r.Values)
				for k, list := range r.ForeachValues {
					if len(list) > 0 {
						out[k] = list[0]
					}
				}
			}
		}
	}
	return out
}

// run is one test file, loaded.
type run struct {
	testFile
	dir       string
	policies  *engine.Policies
	problems  []policy.Problem
	evaluator *engine.Evaluator
	resources []admission.Object
	cluster   declared
	user      admission.Request // only who
}

func load(t testing.TB, path string) *run {
	t.Helper()
	r := &run{dir: filepath.Dir(path)}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &r.testFile); err != nil {
		t.Fatal(path, err)
	}
	options := engine.Options{Now: conformanceNow}
	r.policies, r.problems = engine.CompilePolicies(r.sources(t, r.Policies), options)
	exceptions, problems := engine.CompileExceptions(r.sources(t, r.testFile.Exceptions), options)
	r.problems = append(r.problems, problems...)
	seen := map[string]bool{}
	for _, o := range objects(t, r.sources(t, r.Resources)) {
		meta, ok := o["metadata"].(map[string]any)
		if !ok {
			continue
		}
		if meta["namespace"] == nil {
			meta["namespace"] = "default"
		}
		id := admission.IdentityOf(o)
		key := id.APIVersion() + "," + id.Kind + "," + id.Namespace + "," + id.Name
		if !seen[key] {
			seen[key] = true
			r.resources = append(r.resources, o)
		}
	}
	if r.Values == nil {
		r.Values = &valuesSpec{}
		if r.Variables != "" {
			for _, s := range r.sources(t, []string{r.Variables}) {
				if err := yaml.Unmarshal(s.Data, r.Values); err != nil {
					t.Fatal(path, err)
				}
			}
		}
	}
	if r.UserInfo != "" {
		var u struct {
			Roles, ClusterRoles []string
			UserInfo            admission.UserInfo
		}
		for _, s := range r.sources(t, []string{r.UserInfo}) {
			if err := yaml.Unmarshal(s.Data, &u); err != nil {
				t.Fatal(path, err)
			}
		}
		r.user = admission.Request{UserInfo: u.UserInfo, Roles: u.Roles, ClusterRoles: u.ClusterRoles}
	}
	r.cluster = r.clusterObjects(t)
	var cluster admission.Cluster
	if len(r.cluster) > 0 {
		cluster = r.cluster
	}
	r.evaluator = r.policies.Bind(exceptions, cluster)
	return r
}

func (r *run) clusterObjects(t testing.TB) declared {
	var out declared
	for _, s := range r.sources(t, r.ClusterResources) {
		var c struct {
			Spec struct{ Resources []admission.Object }
		}
		if err := yaml.Unmarshal(s.Data, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Spec.Resources...)
	}
	return out
}

func (r *run) sources(t testing.TB, paths []string) []policy.Source {
	var out []policy.Source
	for _, p := range paths {
		at := filepath.Join(r.dir, p)
		info, err := os.Stat(at)
		if err != nil {
			continue // a path on the network
		}
		if !info.IsDir() {
			out = append(out, read(t, at)...)
			continue
		}
		files, _ := filepath.Glob(filepath.Join(at, "*.yaml"))
		for _, f := range files {
			out = append(out, read(t, f)...)
		}
	}
	return out
}

// answer is what the engine says about one object.
type answer struct {
	engine.Result
	status string
	object admission.Identity
}

// answers evaluates all policies on all objects. Values can differ by policy, so policies are evaluated in
// groups of the same values.
func (r *run) answers() []answer {
	var out []answer
	for _, o := range r.resources {
		id := admission.IdentityOf(o)
		groups := map[string][]string{}
		for _, p := range r.policies.List() {
			key, _ := json.Marshal(aboutRequest(r.Values.of(p.Name, id.Name)))
			groups[string(key)] = append(groups[string(key)], p.Name)
		}
		for _, op := range slices.Sorted(maps.Keys(groups)) {
			req := r.request(aboutRequest(r.Values.of(groups[op][0], id.Name)), o, id)
			values := func(policy, rule string) map[string]any {
				v := r.Values.of(policy, id.Name)
				for k := range aboutRequest(v) {
					delete(v, k)
				}
				maps.Copy(v, r.Values.ofRule(policy, rule))
				return v
			}
			for _, res := range r.evaluator.WithValues(values).Evaluate(context.Background(), req) {
				if !slices.Contains(groups[op], res.Policy.Name) {
					continue
				}
				status := string(res.Outcome)
				switch {
				case res.Tolerated && res.Enforce:
					status = "skip"
				case status == "fail" && res.Policy.Unscored:
					status = "warn"
				}
				out = append(out, answer{res, status, id})
			}
		}
	}
	return out
}

// aboutRequest are the values that are parts of the request itself.
func aboutRequest(values map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range values {
		if k == "request.operation" || strings.HasPrefix(k, "request.object.") {
			out[k] = v
		}
	}
	return out
}

func (r *run) request(values map[string]any, o admission.Object, id admission.Identity) *admission.Request {
	for k, v := range values {
		if path, ok := strings.CutPrefix(k, "request.object."); ok {
			o = runtime.DeepCopyJSON(o)
			reader := csv.NewReader(strings.NewReader(path))
			reader.Comma = '.'
			fields, _ := reader.Read()
			_ = unstructured.SetNestedField(o, v, fields...)
		}
	}
	req := r.user
	req.Operation, req.Object = admission.Create, o
	switch values["request.operation"] {
	case "UPDATE":
		req.Operation, req.OldObject = admission.Update, o
	case "DELETE":
		req.Operation, req.Object, req.OldObject = admission.Delete, nil, o
	}
	req.Namespace = namespaceNamed(id.Namespace, r.Values.labels()[id.Namespace], nil)
	return &req
}

// checkTestFile compares the rows of one test file, and all golden answers of its folder.
func checkTestFile(t *testing.T, path, at string, goldens []golden, rows, texts *tally) {
	t.Helper()
	r := load(t, path)
	kinds := map[string]string{}
	for _, p := range r.policies.List() {
		kinds[p.Name] = p.Kind
	}
	elsewhere := map[string]bool{}
	for _, p := range r.policies.Unsupported() {
		for _, g := range goldens {
			if strings.Contains(p.Message, " "+g.Policy+" ") || strings.Contains(p.Message, " "+g.Policy+":") && strings.Contains(p.Message, "rule "+strings.TrimPrefix(g.Rule, "autogen-")+" ") {
				elsewhere[g.Policy+"/"+g.Rule] = true
			}
		}
	}
	for _, p := range r.problems {
		if !p.Warning {
			t.Logf("%s: %s", at, p)
		}
	}
	answers := r.answers()
	for _, g := range goldens {
		if elsewhere[g.Policy+"/"+g.Rule] {
			texts.add("not evaluated before merge", false)
			continue
		}
		found := findAnswers(answers, g)
		right := len(found) > 0
		for _, a := range found {
			right = right && a.status == g.Result && (a.Message == g.Message || a.status == "pass")
		}
		texts.add("in scope", right)
		if !right {
			t.Logf("golden %s %s/%s %s/%s: want %s %q, got %s", at, g.Policy, g.Rule, g.Kind, g.Name, g.Result, g.Message, describe(found))
		}
	}
	for _, want := range r.Results {
		r.checkRow(t, at, want.Policy, want.Rule, want.Result, want.PatchedResources, want.Resources, answers, goldens, elsewhere, rows)
	}
}

func describe(found []answer) string {
	if len(found) == 0 {
		return "no answer"
	}
	return found[0].status + " \"" + found[0].Message + "\""
}

func findAnswers(answers []answer, g golden) []answer {
	var out []answer
	for _, a := range answers {
		if a.Policy.Name == g.Policy && a.Rule == g.Rule && a.object.Kind == g.Kind && a.object.Name == g.Name && a.object.Namespace == g.Namespace {
			out = append(out, a)
		}
	}
	return out
}

func (r *run) checkRow(t *testing.T, at, policyName, rule, want, patched string, listed []string, answers []answer, goldens []golden, elsewhere map[string]bool, rows *tally) {
	if _, name, ok := strings.Cut(policyName, "/"); ok {
		policyName = name
	}
	isListed := func(namespace, name string) bool {
		return slices.Contains(listed, name) || slices.Contains(listed, namespace+"/"+name)
	}
	if !slices.ContainsFunc(r.resources, func(o admission.Object) bool {
		id := admission.IdentityOf(o)
		return isListed(id.Namespace, id.Name)
	}) {
		isListed = func(string, string) bool { return true }
	}
	for _, g := range goldens {
		if g.Policy != policyName || !isListed(g.Namespace, g.Name) || !sameRule(rule, g.Rule) {
			continue
		}
		category := strings.SplitN(at, "/", 3)[1]
		if elsewhere[g.Policy+"/"+g.Rule] {
			rows.add("not evaluated before merge", false)
			continue
		}
		found := findAnswers(answers, g)
		right := len(found) > 0
		for _, a := range found {
			status := a.status
			if patched != "" && a.Mutation && a.Outcome == engine.Pass && !r.patchedAs(t, patched, lastOf(answers, a)) {
				status = "fail"
			}
			right = right && status == want
		}
		rows.add(category, right)
		if !right {
			t.Logf("row %s %s/%s %s/%s: want %s, got %s", at, g.Policy, g.Rule, g.Kind, g.Name, want, describe(found))
		}
	}
}

func sameRule(want, got string) bool {
	return want == "" || got == "" || got == want || got == "autogen-"+want || got == "autogen-cronjob-"+want
}

// lastOf is the last mutation of the same policy on the same object: what the policy as a whole made of it.
func lastOf(answers []answer, of answer) answer {
	for _, a := range answers {
		if a.Policy == of.Policy && a.object == of.object && a.Patched != nil {
			of = a
		}
	}
	return of
}

func (r *run) patchedAs(t testing.TB, file string, a answer) bool {
	for _, o := range objects(t, r.sources(t, []string{file})) {
		if meta, ok := o["metadata"].(map[string]any); ok && meta["namespace"] == nil {
			meta["namespace"] = "default"
		}
		if admission.IdentityOf(o) == a.object {
			return reflect.DeepEqual(tidy(o), tidy(a.Patched))
		}
	}
	return true
}

// tidy drops what is empty and reads all numbers as floats, as the comparison of patched objects does.
func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = tidy(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, tidy(e))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case int64:
		return float64(v)
	}
	return v
}

package engine_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// advised is one failing field of a public policy on one of the objects that come with its tests.
type advised struct {
	body    string // pattern, deny, foreach, ...
	field   string
	result  engine.Result
	fix     engine.SuggestedFix
	request *admission.Request
	by      *engine.Evaluator
}

// eachAdvised calls a function for each failing field of all public policies on all objects of their tests.
func eachAdvised(t *testing.T, do func(advised)) {
	t.Helper()
	root := filepath.Join(conformanceDir(t), "policies")
	folders, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		var rules, rest []policy.Source
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			if filepath.Dir(path) == folder {
				rules = append(rules, policy.Source{Path: path, Documents: yamltest.Documents(data)})
			} else {
				rest = append(rest, policy.Source{Path: path, Documents: yamltest.Documents(data)})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p, _ := engine.CompilePolicies(rules, engine.Options{Now: conformanceNow})
		bodies := bodiesOf(t, rules)
		all := objects(t, rest)
		by := p.Bind(nil, declared(all))
		for _, o := range all {
			request := &admission.Request{Operation: admission.Create, Object: o}
			for _, r := range by.Evaluate(t.Context(), request) {
				if r.Mutation && r.Patched != nil {
					request.Object = r.Patched
				}
				if r.Outcome != engine.Fail {
					continue
				}
				advice := by.SuggestFixes(context.Background(), request, []engine.Result{r}, nil)[0]
				for _, field := range r.Fields {
					do(advised{bodies.of(r), field, r, advice[field], request, by})
				}
			}
		}
	}
}

// bodies are what the rules of policies are made of, by policy and rule.
type bodies map[string]string

func (b bodies) of(r engine.Result) string {
	rule := strings.TrimPrefix(strings.TrimPrefix(r.Rule, "autogen-"), "cronjob-")
	if what, ok := b[r.Policy.Name+"/"+rule]; ok {
		return what
	}
	return "cel"
}

func bodiesOf(t *testing.T, rules []policy.Source) bodies {
	t.Helper()
	out := bodies{}
	for _, o := range objects(t, rules) {
		spec, _ := o["spec"].(map[string]any)
		list, _ := spec["rules"].([]any)
		for _, raw := range list {
			rule, _ := raw.(map[string]any)
			validate, _ := rule["validate"].(map[string]any)
			for _, what := range []string{"pattern", "anyPattern", "deny", "foreach", "podSecurity", "cel", "assert"} {
				if _, ok := validate[what]; ok {
					out[admission.IdentityOf(o).Name+"/"+fmt.Sprint(rule["name"])] = what
				}
			}
		}
	}
	return out
}

// Nearly every finding of a public policy says what is expected.
func TestConformanceRequirements(t *testing.T) {
	total, said, edits := map[string]int{}, map[string]int{}, map[string]int{}
	eachAdvised(t, func(a advised) {
		for _, k := range []string{a.body, "all"} {
			total[k]++
			if a.fix.Requirement != "" {
				said[k]++
			}
			if a.fix.Change != nil {
				edits[k]++
			}
		}
		if os.Getenv("ADVISED") != "" {
			fmt.Printf("%s %s %s %s: %q %+v\n", a.body, a.result.Policy.Name, a.result.Rule, a.field, a.fix.Requirement,
				a.fix.Change)
		}
	})
	for _, k := range slices.Sorted(maps.Keys(total)) {
		fmt.Printf("%s: %d of %d say what is expected, %d have a value to write\n", k, said[k], total[k], edits[k])
	}
	if said["all"]*100 < total["all"]*90 {
		t.Errorf("%d of %d", said["all"], total["all"])
	}
}

// What is suggested helps: with it, the field does not fail any more.
func TestConformanceSuggestedFixes(t *testing.T) { eachAdvised(t, func(a advised) { a.helps(t) }) }

// helps fails the test where the field still fails with what is suggested; it reports whether anything is.
func (a advised) helps(t *testing.T) bool {
	t.Helper()
	if a.fix.Change == nil {
		return false
	}
	object, ok := a.fix.Change.Apply(a.request.Object)
	if !ok {
		t.Errorf("%s: %+v cannot be applied", a.field, a.fix.Change)
		return true
	}
	before := 0
	for _, r := range a.by.Evaluate(t.Context(), a.request) {
		if r.Policy == a.result.Policy && r.Rule == a.result.Rule {
			before += len(r.Fields)
		}
	}
	after := *a.request
	after.Object = object
	count := 0
	for _, r := range a.by.Evaluate(t.Context(), &after) {
		if r.Policy != a.result.Policy || r.Rule != a.result.Rule {
			continue
		}
		count += len(r.Fields)
		if !a.fix.Change.Remove && r.Message == a.result.Message && slices.Contains(r.Fields, a.field) {
			t.Errorf("%s %s %s: fails with %+v, too", r.Policy.Name, r.Rule, a.field, a.fix.Change)
		}
	}
	if count >= before && before > 0 {
		t.Errorf("%s %s %s: %+v leaves %d of %d", a.result.Policy.Name, a.result.Rule, a.field, a.fix.Change, count,
			before)
	}
	return true
}

// suggestedFixOf calls a function for each field of an object that fails.
func suggestedFixOf(t *testing.T, by *engine.Evaluator, o admission.Object, do func(advised)) {
	t.Helper()
	request := &admission.Request{Operation: admission.Create, Object: o}
	results := by.Evaluate(t.Context(), request)
	for _, r := range results {
		if r.Mutation && r.Patched != nil {
			request.Object = r.Patched
		}
	}
	for i, advice := range by.SuggestFixes(t.Context(), request, results, nil) {
		for _, field := range results[i].Fields {
			if results[i].Outcome == engine.Fail {
				do(advised{"", field, results[i], advice[field], request, by})
			}
		}
	}
}

package starter

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
)

func policies(t *testing.T, kind, action string) []Policy {
	t.Helper()
	list, err := Choice{Kind: kind, Action: action, Sets: []string{Restricted, BestPractices, Namespaces}, Folder: "p"}.Policies()
	if err != nil {
		t.Fatal(err)
	}
	more, err := Choice{Kind: kind, Action: action, Sets: []string{Baseline}, Folder: "p"}.Policies()
	if err != nil {
		t.Fatal(err)
	}
	return append(list, more...)
}

func run(t *testing.T, p Policy) *report.TestRun {
	t.Helper()
	tree := fstest.MapFS{}
	for _, f := range p.Files {
		tree[f.Path] = &fstest.MapFile{Data: f.Data}
	}
	run, err := eval.RunTests(context.Background(), eval.TestInput{Files: tree, Now: time.Unix(1_700_000_000, 0),
		Tests: []string{path.Join("p", p.Name, eval.TestName)}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// The tests of each policy, of both kinds, pass, and compare something in each row.
func TestPolicies(t *testing.T) {
	for _, kind := range Kinds() {
		for _, p := range policies(t, kind, Audit) {
			got := run(t, p)
			if !got.OK() || len(got.Errors) > 0 || len(got.Rows) == 0 {
				t.Errorf("%s %s: %+v", kind, p.Name, got)
			}
			results := map[report.Result]bool{}
			for _, row := range got.Rows {
				if !row.OK || row.Excluded {
					t.Errorf("%s %s: %+v", kind, p.Name, row)
				}
				results[row.Expected] = true
			}
			if !results[report.Pass] || !results[report.Fail] {
				t.Errorf("%s %s is not shown to pass and to bite", kind, p.Name)
			}
		}
	}
}

// Each resource of a test is named by it, and no two policies of a choice have one name.
func TestResourcesAreJudged(t *testing.T) {
	for _, kind := range Kinds() {
		for _, p := range policies(t, kind, Audit) {
			names := regexp.MustCompile(`(?m)^  name: (\S+)$`).FindAllStringSubmatch(string(p.Files[2].Data), -1)
			for _, m := range names {
				if !regexp.MustCompile(`[\[ ]` + regexp.QuoteMeta(m[1]) + `[\],]`).Match(p.Files[1].Data) {
					t.Errorf("%s %s: nothing is said of %s", kind, p.Name, m[1])
				}
			}
		}
	}
}

// A policy asks for nothing that its test would not miss: without any one of its validations, exclusions of a
// resource aside, a row fails.
func TestEachValidationBites(t *testing.T) {
	for _, p := range policies(t, ValidatingPolicy, Audit) {
		var doc map[string]any
		if err := yaml.Unmarshal(p.Files[0].Data, &doc); err != nil {
			t.Fatal(err)
		}
		spec := doc["spec"].(map[string]any)
		all := spec["validations"].([]any)
		for i, v := range all {
			spec["validations"] = append(append([]any{}, all[:i]...), all[i+1:]...)
			if len(all) == 1 {
				spec["validations"] = []any{map[string]any{"expression": "true"}}
			}
			data, err := yaml.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			less := p
			less.Files = append([]File{{Path: p.Files[0].Path, Data: data}}, p.Files[1:]...)
			if run(t, less).OK() {
				t.Errorf("%s passes its test without %v", p.Name, v)
			}
		}
	}
}

// With enforce, nothing but the action differs, once for each rule.
func TestEnforce(t *testing.T) {
	actions := map[string][2]string{
		ClusterPolicy:    {"failureAction: Audit", "failureAction: Enforce"},
		ValidatingPolicy: {"validationActions: [Audit]", "validationActions: [Deny]"},
	}
	for kind, words := range actions {
		enforced := policies(t, kind, Enforce)
		for i, p := range policies(t, kind, Audit) {
			audit, rules := string(p.Files[0].Data), 1
			if kind == ClusterPolicy {
				rules = strings.Count(audit, "\n    - name: ")
			}
			if n := strings.Count(audit, words[0]); n != rules {
				t.Errorf("%s %s has %d actions, want %d", kind, p.Name, n, rules)
			}
			want := strings.ReplaceAll(audit, words[0], words[1])
			if got := string(enforced[i].Files[0].Data); got != want {
				t.Errorf("%s %s, enforced:\n%s", kind, p.Name, got)
			}
		}
	}
}

// Both kinds of a policy are told about in the same words, and the tests of both judge the same.
func TestKindsAreAlike(t *testing.T) {
	other := policies(t, ValidatingPolicy, Audit)
	for i, p := range policies(t, ClusterPolicy, Audit) {
		describe := func(p Policy) string {
			var doc struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := yaml.Unmarshal(p.Files[0].Data, &doc); err != nil {
				t.Fatal(err)
			}
			delete(doc.Metadata.Annotations, "pod-policies.kyverno.io/autogen-controllers")
			return fmt.Sprint(p.Name, doc.Metadata.Annotations)
		}
		if describe(p) != describe(other[i]) {
			t.Errorf("%s is told about as\n%s\n%s", p.Name, describe(p), describe(other[i]))
		}
		verdicts := func(p Policy) map[string]bool {
			of := map[string]bool{} // fails
			for _, row := range run(t, p).Rows {
				of[row.Resource.Kind+" "+row.Resource.Name] = of[row.Resource.Kind+" "+row.Resource.Name] || row.Expected == report.Fail
			}
			return of
		}
		if a, b := fmt.Sprint(verdicts(p)), fmt.Sprint(verdicts(other[i])); a != b {
			t.Errorf("%s judges\n%s\n%s", p.Name, a, b)
		}
	}
}

// Nothing of the files is left out, and names and lines are fit to be written.
func TestFiles(t *testing.T) {
	n := 0
	err := fs.WalkDir(files, "files", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		data, err := files.ReadFile(p)
		for i, line := range strings.Split(string(data), "\n") {
			if len(line) > 120 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s, line %d: too long, or ends with a space", p, i+1)
			}
		}
		return err
	})
	if want := 5 * len(policies(t, ClusterPolicy, Audit)); err != nil || n != want {
		t.Errorf("%d files, want %d: %v", n, want, err)
	}
	for _, c := range []Choice{{}, {Kind: ClusterPolicy, Action: "block"}, {Kind: "Policy", Action: Audit},
		{Kind: ClusterPolicy, Action: Audit, Sets: []string{"all"}}} {
		if list, err := c.Policies(); err == nil {
			t.Errorf("%+v has %v", c, list)
		}
	}
}

package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
)

// The floors are the reached numbers of right answers; fewer are a regression.
const (
	admissionFloor = 182
	rowsFloor      = 2330
	goldensFloor   = 2842
	passedFloor    = 2385 // of what "lintel test" counts
)

var conformanceNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func conformanceDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "conformance"))
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
	names := make([]string, 0, len(c.total))
	for k := range c.total {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		if c.right[k] < c.total[k] || k == "all" {
			fmt.Printf("%s %s: %d/%d\n", what, k, c.right[k], c.total[k])
		}
	}
	if c.right["all"] < floor {
		t.Errorf("%s: %d right, the floor is %d", what, c.right["all"], floor)
	}
}

// Admission reviews that a real cluster answered are evaluated as "lintel eval" does.
func TestConformanceAdmission(t *testing.T) {
	dir := filepath.Join(conformanceDir(t), "admission")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	counts := newTally()
	for _, e := range entries {
		var c struct {
			Test, Expect string
			Update       bool
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		got, why := decide(t, filepath.Join(dir, e.Name()), c.Update)
		counts.add(path.Dir(c.Test), got == c.Expect)
		if got != c.Expect {
			t.Logf("%s %s: want %s, got %s: %s", e.Name(), c.Test, c.Expect, got, why)
		}
	}
	counts.report(t, "admission", admissionFloor)
}

// decide returns the answer of an API server: allow, warn or deny. Otherwise why is what prevented an answer.
func decide(t testing.TB, at string, update bool) (answer, why string) {
	t.Helper()
	read := func(names ...string) []rules.File {
		var out []rules.File
		for _, n := range names {
			data, err := os.ReadFile(filepath.Join(at, n))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rules.File{Path: n, Data: data})
		}
		return out
	}
	in := Input{
		Policies: read("policies.yaml"), Resources: read("resource.yaml"), Exceptions: read("exceptions.yaml"),
		Cluster: read("setup.yaml", "policies.yaml"), Now: conformanceNow,
		User: settings.Requester{Info: admission.UserInfo{Username: "kubernetes-admin",
			Groups: []string{"system:masters", "system:authenticated"}}},
	}
	if update {
		in.Operation = admission.Update
	}
	for _, s := range read("values.yaml") {
		values, problems := ParseValues(s)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		in.Values = values
	}
	r, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		return "problem", r.Errors[0].String()
	}
	answer = "allow"
	for _, res := range r.Results {
		bad := res.Blocks() || res.Result == report.Warn || res.Result == report.Error || res.Result == report.Unknown
		switch {
		case res.Blocks():
			answer = "deny"
		case res.Result == report.Unknown && res.Action == report.Enforce:
			answer = "unknown"
		case bad && answer == "allow" && res.Warn:
			answer = "warn"
		}
		why += fmt.Sprintf("[%s/%s %s %s %s] ", res.Policy, res.Rule, res.Result, res.Action, res.Message)
	}
	return answer, why
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

// The rows of all test files are compared with Kyverno's results. A row counts if Kyverno has a result, whether Lintel
// has one or not.
func TestConformanceRows(t *testing.T) {
	dir := conformanceDir(t)
	goldens := readGoldens(t, dir)
	rows, texts := newTally(), newTally()
	in := TestInput{Files: os.DirFS(dir), Now: conformanceNow}
	for _, part := range []string{"policies", "cli"} {
		tests, err := FindTests(in.Files, part, TestName)
		if err != nil {
			t.Fatal(err)
		}
		in.Tests = append(in.Tests, tests...)
	}
	for _, test := range in.Tests {
		f := testFile{TestInput: &in, path: test}
		f.visit = func(c *loaded) { c.checkGoldens(t, goldens[path.Dir(test)], rows, texts) }
		f.run(t.Context())
		for _, e := range f.errors {
			t.Logf("error %s: %s", test, e)
		}
		for _, row := range f.rows {
			if !row.OK && !row.Excluded {
				t.Logf("row %s %s/%s %s/%s: want %s, got %s: %s", row.File, row.Policy, row.Rule, row.Resource.Kind,
					row.Resource.Name, row.Expected, row.Actual, row.Reason)
			}
		}
	}
	rows.report(t, "rows", rowsFloor)
	texts.report(t, "goldens", goldensFloor)
	rep, err := RunTests(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("lintel test: %+v, %d errors\n", rep.Summary, len(rep.Errors))
	if rep.Summary.Passed < passedFloor {
		t.Errorf("%d rows passed, the floor is %d", rep.Summary.Passed, passedFloor)
	}
}

// checkGoldens compares the results of one test with Kyverno's.
func (c *loaded) checkGoldens(t *testing.T, goldens []golden, rows, texts *tally) {
	at := path.Dir(c.path)
	find := func(g golden) (found []*answer) {
		for i := range c.answers {
			if a := &c.answers[i]; a.Policy.Name == g.Policy && a.Rule == g.Rule && a.object.Kind == g.Kind &&
				a.object.Name == g.Name && a.object.Namespace == g.Namespace {
				found = append(found, a)
			}
		}
		return found
	}
	describe := func(found []*answer) string {
		if len(found) == 0 {
			return "no answer"
		}
		return fmt.Sprintf("%s %q", found[0].status, found[0].Message)
	}
	elsewhere := func(g golden) bool {
		return len(find(g)) == 0 && c.unanswered(report.TestRow{Rule: strings.TrimPrefix(g.Rule, "autogen-")},
			g.Policy).Reason == notEvaluated
	}
	for _, g := range goldens {
		if elsewhere(g) {
			texts.add(notEvaluated, false)
			continue
		}
		found := find(g)
		right := len(found) > 0
		for _, a := range found {
			right = right && string(a.status) == g.Result && (a.Message == g.Message || a.status == report.Pass)
		}
		texts.add("in scope", right)
		if !right {
			t.Logf("golden %s %s/%s %s/%s: want %s %q, got %s", at, g.Policy, g.Rule, g.Kind, g.Name, g.Result, g.Message,
				describe(found))
		}
	}
	for i := range c.Results {
		want := &c.Results[i]
		name := want.Policy[strings.IndexByte(want.Policy, '/')+1:]
		about := c.about(want)
		for _, g := range goldens {
			if g.Policy != name || !sameRule(want.Rule, g.Rule) || !slices.ContainsFunc(about, func(o admission.Object) bool {
				id := admission.IdentityOf(o)
				return id.Kind == g.Kind && id.Name == g.Name && id.Namespace == g.Namespace
			}) {
				continue
			}
			if elsewhere(g) {
				rows.add(notEvaluated, false)
				continue
			}
			found := find(g)
			right := len(found) > 0
			for _, a := range found {
				row := c.judge(report.TestRow{Expected: want.Result}, want, a)
				right = right && (row.OK || row.Excluded)
			}
			rows.add(strings.SplitN(at, "/", 3)[1], right)
			if !right {
				t.Logf("unlike Kyverno: %s %s/%s %s/%s: want %s, got %s", at, g.Policy, g.Rule, g.Kind, g.Name, want.Result,
					describe(found))
			}
		}
	}
}

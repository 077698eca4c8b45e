package eval

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/roots"
)

// TestName is the name of the test files.
const TestName = roots.PolicyTestName

// TestInput is the input of RunTests: the files that list policies, objects and expected results, and the inputs that
// they depend on. The format is that of the kyverno command
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/), with one difference: a row without a comparison says
// so, and does not pass.
type TestInput struct {
	Files fs.FS    // contains all files that tests refer to
	Tests []string // the test files, as paths of Files
	// Name returns the name in reports of a path in Files; nil for the path itself.
	Name    func(path string) string
	Now     time.Time
	Workers int // number of concurrent tests; 0 means one for each processor
	// Match selects the expected results to check; nil for all.
	Match func(policy, rule, resource string) bool
	// Strict makes rows without a comparison fail. A test without rows, and a run without rows, is then an error.
	Strict bool
	// Coverage requests which rules the rows reach.
	Coverage bool
}

// FindTests lists the test files in a folder of a file system and below, sorted by path. name is their file name,
// usually TestName.
func FindTests(files fs.FS, dir, name string) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Base(p) == name {
			out = append(out, p)
		}
		return err
	})
	return out, err
}

// RunTests runs tests concurrently. Errors of their files are in the report, and do not stop other tests. The returned
// error is that of the context.
func RunTests(ctx context.Context, in TestInput) (*report.TestRun, error) {
	secrets := &mask.Values{}
	results := make([]report.TestRun, len(in.Tests))
	var workers errgroup.Group
	workers.SetLimit(cmp.Or(in.Workers, runtime.GOMAXPROCS(0)))
	for i, path := range in.Tests {
		workers.Go(func() error {
			if ctx.Err() == nil {
				f := testFile{TestInput: &in, path: path, secrets: secrets}
				f.run(ctx)
				// A new TestRun, so that the files that f has read can be freed.
				results[i] = report.TestRun{Rows: f.rows, Errors: f.errors, Coverage: f.coverage}
			}
			return ctx.Err()
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	out := &report.TestRun{Rows: []report.TestRow{}, Errors: []report.Problem{}}
	out.Summary.Files = len(in.Tests)
	for _, r := range results {
		out.Rows = append(out.Rows, r.Rows...)
		out.Errors = append(out.Errors, r.Errors...)
		out.Coverage = append(out.Coverage, r.Coverage...)
	}
	if in.Strict && len(out.Rows)+len(out.Errors) == 0 {
		out.Errors = append(out.Errors, report.Problem{Message: "nothing was compared"})
	}
	out.Coverage = merged(out.Coverage)
	// Several tests often share a broken policy.
	out.Errors = report.SortProblems(out.Errors)
	for i := range out.Rows {
		out.Summary.Count(&out.Rows[i])
	}
	mask.Texts(out, secrets)
	return out, nil
}

// test is one document of a test file (apis/v1alpha1/test.go and test_result.go of Kyverno). Payloads, responses
// and the other fields that are decoded to anything belong to policies that are not evaluated before merge.
type test struct {
	APIVersion       string        `json:"apiVersion"`
	Kind             string        `json:"kind"`
	Metadata         any           `json:"metadata"`
	Policies         []string      `json:"policies"`
	Resources        []string      `json:"resources"`
	TargetResources  []string      `json:"targetResources"`
	ParamResources   []string      `json:"paramResources"`
	Exceptions       []string      `json:"exceptions"`
	Variables        string        `json:"variables"`
	Values           *Values       `json:"values"` // wins over Variables
	UserInfo         string        `json:"userinfo"`
	Context          string        `json:"context"`
	ClusterResources []string      `json:"clusterResources"`
	JSONPayload      any           `json:"jsonPayload"`
	JSONPayloads     any           `json:"jsonPayloads"`
	HTTPPayloads     any           `json:"httpPayloads"`
	EnvoyPayloads    any           `json:"envoyPayloads"`
	APICallResponses any           `json:"apiCallResponses"`
	GlobalContext    any           `json:"globalContextEntries"`
	Checks           any           `json:"checks"`
	Results          []expectation `json:"results"`
}

// expectation is one entry of "results".
type expectation struct {
	Policy                string        `json:"policy"`
	Rule                  string        `json:"rule"`
	Result                report.Result `json:"result"`
	Kind                  string        `json:"kind"`
	Resources             []string      `json:"resources"` // "name" or "namespace/name"
	ResourceSpecs         any           `json:"resourceSpecs"`
	PatchedResources      string        `json:"patchedResources"`
	GeneratedResource     string        `json:"generatedResource"`
	GeneratedResources    []string      `json:"generatedResources"`
	CloneSourceResource   string        `json:"cloneSourceResource"`
	FailOnMissing         bool          `json:"failOnMissingResources"`
	Operation             string        `json:"operation"`
	ValidatingPolicy      bool          `json:"isValidatingPolicy"`
	MutatingPolicy        bool          `json:"isMutatingPolicy"`
	GeneratingPolicy      bool          `json:"isGeneratingPolicy"`
	DeletingPolicy        bool          `json:"isDeletingPolicy"`
	ImageValidatingPolicy bool          `json:"isImageValidatingPolicy"`
	ValidatingAdmission   bool          `json:"isValidatingAdmissionPolicy"`
	MutatingAdmission     bool          `json:"isMutatingAdmissionPolicy"`
}

// expectable are the results that a test can expect.
var expectable = []report.Result{report.Error, report.Fail, report.Pass, report.Skip, report.Warn}

// uncovered adds the rules of a policy as not reached by any row.
func (p *policyFile) uncovered(d policy.Document) {
	if !p.inUse {
		return
	}
	one := report.RuleCoverage{Policy: report.Name(d.Namespace, d.Name), Path: d.Path, Line: d.Line, Results: []report.Result{}}
	if len(p.written) == 0 {
		p.coverage = []report.RuleCoverage{one}
	}
	for i, rule := range p.written {
		if slices.Contains(p.evaluated, rule) {
			one.Rule = rule
			one.Line, _ = d.Position(fmt.Sprintf("/spec/rules/%d", i))
			p.coverage = append(p.coverage, one)
		}
	}
}

// cover notes that a row compared an answer.
func (c *loaded) cover(a *answer) {
	for i := range c.policies {
		p := &c.policies[i]
		if p.name != a.Policy.Name || p.path != a.Policy.Path || p.kind != a.Policy.Kind {
			continue
		}
		for j := range p.coverage {
			if one := &p.coverage[j]; one.Rule == "" || formOf(one.Rule, a.Rule) {
				one.Results = report.Union(one.Results, []report.Result{a.status})
				one.Mutates = one.Mutates || a.Mutation
			}
		}
	}
}

// maxRuleName is the maximum length of the name of a generated rule; longer names are cut.
const maxRuleName = 63

// formOf reports whether a rule is the written one, or generated from it for pod controllers.
func formOf(written, rule string) bool {
	return slices.ContainsFunc([]string{written, "autogen-" + written, "autogen-cronjob-" + written}, func(name string) bool {
		return name == rule || len(rule) == maxRuleName && name[:min(len(name), maxRuleName)] == rule
	})
}

// merged is the coverage of rules that several tests name.
func merged(list []report.RuleCoverage) (out []report.RuleCoverage) {
	compare := func(a, b report.RuleCoverage) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Rule, b.Rule))
	}
	slices.SortStableFunc(list, compare)
	for _, one := range list {
		if last := len(out) - 1; last >= 0 && compare(out[last], one) == 0 {
			out[last].Results = report.Union(out[last].Results, one.Results)
			out[last].Mutates = out[last].Mutates || one.Mutates
			continue
		}
		out = append(out, one)
	}
	for _, one := range out {
		slices.Sort(one.Results)
	}
	return out
}

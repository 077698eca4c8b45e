package output

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

type policyReport struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Metadata   map[string]string   `json:"metadata"`
	Summary    policyReportSummary `json:"summary"`
	Results    []policyResult      `json:"results"`
}

type policyReportSummary struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Warn  int `json:"warn"`
	Error int `json:"error"`
	Skip  int `json:"skip"`
}

type policyResult struct {
	Source     string            `json:"source"`
	Policy     string            `json:"policy"`
	Rule       string            `json:"rule,omitempty"`
	Severity   string            `json:"severity,omitempty"`
	Result     report.Result     `json:"result"`
	Scored     bool              `json:"scored"`
	Message    string            `json:"message"`
	Resources  []report.Resource `json:"resources,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// checkPolicyReport writes the findings as a ClusterPolicyReport of wgpolicyk8s.io/v1alpha2, which may contain
// resources of all namespaces (https://github.com/kubernetes-sigs/wg-policy-prototypes). A finding that needs the
// cluster is an error in it: the kind has no undecided result, and it is not a pass.
func checkPolicyReport(w io.Writer, r *report.Report, o Options) error {
	out := newPolicyReport(r.Errors)
	out.Summary.Pass = r.Stats.Passed
	for _, p := range view.NotChecked(r.NotChecked, r.Causes) {
		out.add(problemResult(p, report.Skip, "true"))
	}
	for _, f := range view.ByPlace(r.Findings) {
		p := policyResult{Policy: yamlText(f.Policy), Rule: yamlText(view.RuleName(f.Rule)), Result: f.Result, Scored: true,
			Message: yamlText(view.Sentence(f)), Severity: reportSeverity(f.Severity),
			Resources: report.Mapped(append([]report.Resource{f.Resource}, f.Resources...), reportResource)}
		o, e, undecided := view.OriginOf(f), cmp.Or(f.Exemption, &report.Exemption{}), ""
		if f.Result == report.Unknown {
			undecided = "true"
		}
		p.Properties = properties("path", o.Path, "line", number(o.StartLine), "field", f.Field,
			"action", string(f.Action), "operation", f.Operation,
			"new", strconv.FormatBool(f.New), "blocks", strconv.FormatBool(f.Blocks),
			"exception", e.Exception, "exceptionState", string(e.State), "undecided", undecided,
			"advice", view.FixInstruction(f))
		if x := view.FixOf(f); x != nil {
			p.Properties["fix"] = strings.Join(report.Mapped(x.Rows, yamlText), "\n")
		}
		out.add(p)
	}
	return out.write(w, o)
}

// evalPolicyReport writes all results of an evaluation in that format, including passes.
func evalPolicyReport(w io.Writer, r *report.Evaluation, o Options) error {
	out := newPolicyReport(r.Errors)
	for _, res := range r.Results {
		out.add(policyResult{Policy: yamlText(res.Policy), Rule: yamlText(view.RuleName(res.Rule)), Result: res.Result,
			Scored: !res.Unscored, Message: yamlText(view.Reason(res.Rule, res.Message)),
			Severity: reportSeverity(res.Severity), Resources: []report.Resource{reportResource(res.Resource)},
			Properties: properties("path", res.Path, "action", string(res.Action))})
	}
	return out.write(w, o)
}

func newPolicyReport(errors []report.Problem) *policyReport {
	out := &policyReport{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "ClusterPolicyReport",
		Metadata: map[string]string{"name": "lintel"}, Results: []policyResult{}}
	for _, p := range errors {
		out.add(problemResult(p, report.Error, ""))
	}
	return out
}

func problemResult(p report.Problem, result report.Result, undecided string) policyResult {
	return policyResult{Policy: "lintel", Result: result, Scored: true, Message: yamlText(p.Message),
		Properties: properties("path", p.Path, "line", number(p.Line), "undecided", undecided)}
}

func (out *policyReport) add(p policyResult) {
	switch p.Result {
	case report.Pass:
		out.Summary.Pass++
	case report.Fail:
		out.Summary.Fail++
	case report.Warn:
		out.Summary.Warn++
	case report.Skip:
		out.Summary.Skip++
	default:
		p.Result = report.Error
		out.Summary.Error++
	}
	p.Source = "lintel"
	out.Results = append(out.Results, p)
}

func (out *policyReport) write(w io.Writer, o Options) error {
	if o.JSON {
		return writeJSON(w, out)
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// reportSeverity returns a severity that the kind supports, "" for others.
func reportSeverity(s string) string {
	if slices.Contains(report.Severities(), s) {
		return s
	}
	return ""
}

func reportResource(r report.Resource) report.Resource {
	return report.Resource{APIVersion: yamlText(r.APIVersion), Kind: yamlText(r.Kind), Namespace: yamlText(r.Namespace),
		Name: yamlText(r.Name)}
}

// yamlText returns text on one line. The YAML encoder may break it at spaces.
func yamlText(s string) string { return tameWords(Line(s)) }

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// properties returns names with values, without empty values.
func properties(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = yamlText(pairs[i+1])
		}
	}
	return m
}

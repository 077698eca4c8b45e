package format

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks"
)

// The parts of SARIF 2.1.0 that Lintel writes
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		ColumnKind  string            `json:"columnKind"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string         `json:"id"`
		Short         sarifText      `json:"shortDescription"`
		Configuration sarifLevel     `json:"defaultConfiguration"`
		Properties    map[string]any `json:"properties,omitempty"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Kind         string             `json:"kind"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Related      []sarifLocation    `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions"` // an empty list says that there are none
		Baseline     string             `json:"baselineState"`
		Properties   map[string]any     `json:"properties,omitempty"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		EndLine     int `json:"endLine,omitempty"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		Name      string `json:"name"`
		Qualified string `json:"fullyQualifiedName"`
		Kind      string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification,omitempty"`
	}
)

// SARIF writes the report as SARIF 2.1.0. A finding is a result on its place, "unchanged" when the base
// had it, suppressed when an exception speaks about it; errors and warnings about the check are
// notifications. version is Lintel's own and may be empty.
func SARIF(w io.Writer, r *checks.Report, version string) error {
	rules, index := sarifRules(r.Findings)
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "lintel", Version: version, InformationURI: "https://github.com/lintel-bot/lintel", Rules: rules}},
		// Columns count characters, not UTF-16 units, and endColumn is behind the last one, as here.
		ColumnKind:  "unicodeCodePoints",
		Invocations: []sarifInvocation{{Successful: len(r.Errors) == 0}},
		Results:     []sarifResult{},
	}
	notify := func(level string, problems []checks.Problem) {
		for _, p := range problems {
			n := sarifNotification{Level: level, Message: sarifText{p.Message}}
			if p.Path != "" {
				n.Locations = []sarifLocation{{Physical: sarifPlace(p.Path, p.Line, 0, p.Column, 0)}}
			}
			run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
		}
	}
	notify("error", r.Errors)
	notify("warning", r.Warnings)
	for _, f := range byPlace(r.Findings) {
		result := sarifFinding(f)
		result.RuleIndex = index[result.RuleID]
		run.Results = append(run.Results, result)
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func ruleID(f *checks.Finding) string { return strings.TrimSuffix(f.Policy+"/"+f.Rule, "/") }

// sarifRules are the rules that have findings, sorted, and where each is.
func sarifRules(findings []checks.Finding) ([]sarifRule, map[string]int) {
	byID := map[string]sarifRule{}
	for i := range findings {
		f := &findings[i]
		rule := sarifRule{ID: ruleID(f), Short: sarifText{"Rule " + f.Rule + " of policy " + f.Policy}, Configuration: sarifLevel{"warning"}}
		if f.Rule == "" {
			rule.Short.Text = "Policy " + f.Policy
		}
		if f.Action == "enforce" {
			rule.Configuration.Level = "error"
		}
		rule.Properties = map[string]any{"tags": []string{"kubernetes", "policy"}, "precision": "very-high"}
		// The scores by which GitHub sorts alerts into its severities
		// (https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
		if score := map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0", "info": "0.0"}[f.Severity]; score != "" {
			rule.Properties["security-severity"] = score
		}
		if _, ok := byID[rule.ID]; !ok || f.Action == "enforce" {
			byID[rule.ID] = rule
		}
	}
	rules := make([]sarifRule, 0, len(byID))
	for _, r := range byID {
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	index := map[string]int{}
	for i, r := range rules {
		index[r.ID] = i
	}
	return rules, index
}

func sarifFinding(f *checks.Finding) sarifResult {
	r := sarifResult{
		RuleID:       ruleID(f),
		Kind:         "fail",
		Level:        "error",
		Message:      sarifText{cmp.Or(f.Message, ruleName(f))},
		Fingerprints: map[string]string{"lintel/v1": fingerprint(f)},
		Suppressions: []sarifSuppression{},
		Baseline:     "unchanged",
		Properties:   map[string]any{"result": f.Result, "action": f.Action, "operation": f.Operation, "field": f.Field, "blocks": f.Blocks},
	}
	if f.New {
		r.Baseline = "new"
	}
	switch {
	case f.Result == checks.Unknown: // "open": not enough information to decide; any other level than none is invalid
		r.Kind, r.Level = "open", "none"
	case f.Action != "enforce" && f.Result != checks.Error:
		r.Level = "warning"
	}
	if len(f.Roots) > 0 {
		r.Properties["roots"] = f.Roots
	}
	if e := f.Exemption; e != nil {
		status := map[string]string{"merged": "accepted", "approved": "accepted", "pending": "underReview"}[e.State]
		r.Suppressions = append(r.Suppressions, sarifSuppression{Kind: "external", Status: cmp.Or(status, "rejected"), Justification: exemptionWords(e)})
	}
	at := sarifLocation{}
	if o := f.Origin; o != nil && o.Path != "" {
		at.Physical = sarifPlace(o.Path, o.StartLine, o.EndLine, o.StartColumn, o.EndColumn)
		for i, c := range o.Chain {
			r.Related = append(r.Related, sarifLocation{ID: i + 1, Physical: sarifPlace(c.Path, c.StartLine, c.EndLine, 0, 0), Message: &sarifText{c.Role}})
		}
	} else if f.PolicyPath != "" { // consumers want a file
		at.Physical = sarifPlace(f.PolicyPath, f.PolicyLine, 0, 0, 0)
	}
	for _, res := range append([]checks.Resource{f.Resource}, f.Resources...) {
		parts := slices.DeleteFunc([]string{res.APIVersion, res.Kind, res.Namespace, res.Name}, func(s string) bool { return s == "" })
		at.Logical = append(at.Logical, sarifLogical{Name: res.Name, Qualified: strings.Join(parts, "/"), Kind: "resource"})
	}
	r.Locations = []sarifLocation{at}
	return r
}

func sarifPlace(path string, line, endLine, column, endColumn int) *sarifPhysical {
	p := &sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: path}).String(), Base: "%SRCROOT%"}}
	if line > 0 {
		p.Region = &sarifRegion{StartLine: line, StartColumn: column}
		if endLine >= line {
			p.Region.EndLine = endLine
		}
		if column > 0 && endColumn >= column {
			p.Region.EndColumn = endColumn
		}
	}
	return p
}

// fingerprint identifies a finding across commits: its line may move.
func fingerprint(f *checks.Finding) string {
	path := ""
	if f.Origin != nil {
		path = f.Origin.Path
	}
	r := f.Resource
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Policy, f.Rule, r.APIVersion, r.Kind, r.Namespace, r.Name, f.Field, path}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// The parts of SARIF 2.1.0 that Lintel writes (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
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
		Full          sarifText      `json:"fullDescription"`
		Help          sarifText      `json:"help"`
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
		EndLine     int `json:"endLine"`
		StartColumn int `json:"startColumn"`
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

// maxResults is the maximum number of results of a run; GitHub's code scanning refuses a file with more
// (https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
const maxResults = 25_000

// errorRule is the rule of errors: files that could not be read, rendered or decided.
const errorRule = "lintel/error"

// checkSARIF writes the report as SARIF 2.1.0, in the subset that GitHub's code scanning accepts. A finding is a result
// at its place, with the state "unchanged" if it is pre-existing, and suppressed if an exception covers it. Errors and
// warnings of the check are notifications; an error in a file is also a result, since viewers show nothing else.
// Results beyond 25,000 are counted in a notification.
func checkSARIF(w io.Writer, r *report.Report, o Options) error {
	rules := sarifRules(r)
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "lintel", Version: o.Version,
			InformationURI: "https://github.com/lintel-bot/lintel", Rules: rules}},
		// Columns count characters, not UTF-16 units, and endColumn is behind the last one, as here.
		ColumnKind:  "unicodeCodePoints",
		Invocations: []sarifInvocation{{Successful: len(r.Errors) == 0}},
		Results:     []sarifResult{},
	}
	notify := func(level string, problems []report.Problem) {
		for _, p := range problems {
			n := sarifNotification{Level: level, Message: sarifMessage(cmp.Or(p.Message, level))}
			if p.Path != "" {
				n.Locations = []sarifLocation{{Physical: sarifPlace(p.Path, p.Line, 0, p.Column, 0)}}
			}
			run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
		}
	}
	notify("error", r.Errors)
	notify("warning", view.NotChecked(r.NotChecked, r.Causes))
	notify("warning", r.Warnings)
	placed := report.Kept(r.Errors, func(p report.Problem) bool { return p.Path != "" })
	run.Results = append(run.Results, report.Mapped(placed, sarifProblem)...)
	list := view.ByPlace(r.Findings)
	if len(run.Results)+len(list) > maxResults { // what blocks goes first
		slices.SortStableFunc(list, func(a, b *report.Finding) int { return cmp.Compare(view.StateOf(a), view.StateOf(b)) })
	}
	run.Results = append(run.Results, report.Mapped(list, sarifFinding)...)
	if over := len(run.Results) - maxResults; over > 0 {
		run.Results = run.Results[:maxResults]
		notify("warning", []report.Problem{{Message: report.Count(over, "result is", "results are") +
			" left out: code scanning takes 25,000"}})
	}
	for i := range run.Results {
		result := &run.Results[i]
		result.RuleIndex = slices.IndexFunc(rules, func(rule sarifRule) bool { return rule.ID == result.RuleID })
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{run}})
}

// sarifMessage returns text without links: in messages, "[text](target)" is one (SARIF 2.1.0, 3.11.6), and text of a
// change must not add any.
func sarifMessage(s string) sarifText { return sarifText{strings.ReplaceAll(s, "](", "] (")} }

// ruleID returns the name of a rule as its author wrote it, for Pods and for controllers.
func ruleID(f *report.Finding) string {
	return strings.TrimSuffix(f.Policy+"/"+view.RuleName(f.Rule), "/")
}

// sarifRules returns the rules that have results, sorted.
func sarifRules(r *report.Report) []sarifRule {
	byID := map[string]sarifRule{}
	for i := range r.Findings {
		f := &r.Findings[i]
		short, where := "Rule "+view.RuleName(f.Rule)+" of policy "+f.Policy, ""
		if f.Rule == "" {
			short = "Policy " + f.Policy
		}
		if f.PolicyPath != "" {
			where = ", written in " + f.PolicyPath // without a line, so that rules seldom change
		}
		full := short + where + ". Its action is " + string(f.Action) + "."
		about := r.About[f.Policy]
		if about.Description != "" {
			full = Line(about.Description) + " " + full
		}
		if about.Title != "" {
			short = about.Title + ": " + short
		}
		rule := newSARIFRule(ruleID(f), short, full, "warning")
		if about.Title != "" {
			rule.Help = sarifMessage(about.Title + ". " + full)
		}
		if about.Category != "" {
			rule.Properties["tags"] = []string{"kubernetes", "policy", about.Category}
		}
		if f.Action == report.Enforce {
			rule.Configuration.Level = "error"
		}
		// The scores by which GitHub sorts alerts into its severities.
		scores := map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0"}
		if score := scores[f.Severity]; score != "" {
			rule.Properties["security-severity"] = score
		}
		if _, ok := byID[rule.ID]; !ok || f.Action == report.Enforce {
			byID[rule.ID] = rule
		}
	}
	if slices.ContainsFunc(r.Errors, func(p report.Problem) bool { return p.Path != "" }) {
		byID[errorRule] = newSARIFRule(errorRule, "Files that cannot be checked",
			"What cannot be read, rendered or compiled fails the check.", "error")
	}
	rules := make([]sarifRule, 0, len(byID)) // an empty list is written, not null
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		rules = append(rules, byID[id])
	}
	return rules
}

// newSARIFRule describes a rule; GitHub requires all three texts and shows 1,024 characters of the first two.
func newSARIFRule(id, short, full, level string) sarifRule {
	cut := func(s string) sarifText {
		m := sarifMessage(s)
		if r := []rune(m.Text); len(r) > 1024 {
			m.Text = string(r[:1024])
		}
		return m
	}
	return sarifRule{ID: id, Short: cut(short), Full: cut(full), Help: sarifMessage(full),
		Configuration: sarifLevel{level},
		Properties:    map[string]any{"tags": []string{"kubernetes", "policy"}, "precision": "very-high"}}
}

func sarifProblem(p report.Problem) sarifResult {
	message := cmp.Or(p.Message, "cannot be checked")
	return sarifResult{RuleID: errorRule, Kind: "fail", Level: "error", Message: sarifMessage(message), Baseline: "new",
		Suppressions: []sarifSuppression{},
		Locations:    []sarifLocation{{Physical: sarifPlace(p.Path, max(p.Line, 1), 0, p.Column, 0)}},
		Fingerprints: map[string]string{fingerprintName: digest(errorRule, p.Path, message)}}
}

// sarifLevels are the levels of results. One that is suppressed is a note.
var sarifLevels = map[view.Level]string{view.Failure: "error", view.Warn: "warning"}

func sarifFinding(f *report.Finding) sarifResult {
	r := sarifResult{
		RuleID:       ruleID(f),
		Kind:         "fail",
		Level:        cmp.Or(sarifLevels[view.LevelOf(f)], "note"),
		Message:      sarifMessage(cmp.Or(view.Sentence(f), view.Title(f.Policy, f.Rule)) + details(f, strings.Clone)),
		Fingerprints: map[string]string{fingerprintName: fingerprint(f)},
		Suppressions: []sarifSuppression{},
		Baseline:     "unchanged",
		Properties: map[string]any{"result": f.Result, "action": f.Action, "operation": f.Operation, "field": f.Field,
			"blocks": f.Blocks},
	}
	if f.New {
		r.Baseline = "new"
	}
	if f.Result == report.Unknown { // "open": not enough information to decide; any other level than none is invalid
		r.Kind, r.Level = "open", "none"
	}
	if len(f.Roots) > 0 {
		r.Properties["roots"] = f.Roots
	}
	if len(f.Clusters) > 0 {
		r.Properties["clusters"] = f.Clusters
	}
	if e := f.Exemption; e != nil {
		status := map[report.State]string{report.Merged: "accepted", report.Approved: "accepted",
			report.Pending: "underReview"}[e.State]
		r.Suppressions = append(r.Suppressions, sarifSuppression{Kind: "external", Status: cmp.Or(status, "rejected"),
			Justification: view.Exemption(e)})
	}
	at := sarifLocation{}
	if o := f.Origin; o != nil && o.Path != "" {
		at.Physical = sarifPlace(o.Path, max(o.StartLine, 1), o.EndLine, o.StartColumn, o.EndColumn)
		for i, c := range o.Chain {
			text := sarifMessage(c.Role)
			r.Related = append(r.Related, sarifLocation{ID: i + 1, Physical: sarifPlace(c.Path, c.StartLine, c.EndLine, 0, 0),
				Message: &text})
		}
	} else { // GitHub refuses a whole file for one result without a place
		at.Physical = sarifPlace(cmp.Or(f.PolicyPath, report.SettingsPath), max(f.PolicyLine, 1), 0, 0, 0)
	}
	seen := map[report.Resource]bool{} // the schema wants each once
	for _, res := range append([]report.Resource{f.Resource}, f.Resources...) {
		if seen[res] {
			continue
		}
		seen[res] = true
		at.Logical = append(at.Logical, sarifLogical{Name: res.Name, Qualified: qualifiedName(res), Kind: "resource"})
	}
	r.Locations = []sarifLocation{at}
	return r
}

// sarifPlace returns a place in a file. The region repeats defaults of the standard (3.30.5, 3.30.6), since GitHub
// lists these fields as required. Without endColumn it ends at the end of its last line. Without a line it is the whole
// file.
func sarifPlace(path string, line, endLine, column, endColumn int) *sarifPhysical {
	p := &sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: path}).String(), Base: "%SRCROOT%"}}
	if line > 0 {
		p.Region = &sarifRegion{StartLine: line, EndLine: max(line, endLine), StartColumn: max(column, 1)}
		if column > 0 && endColumn >= column {
			p.Region.EndColumn = endColumn
		}
	}
	return p
}

// fingerprintName is our own. The action that uploads to GitHub computes primaryLocationLineHash, the only one that
// code scanning uses, and warns about a different value.
const fingerprintName = "lintel/v1"

// fingerprint identifies a finding across commits: its line may move.
func fingerprint(f *report.Finding) string {
	r := f.Resource
	return digest(f.Policy, f.Rule, r.APIVersion, r.Kind, r.Namespace, r.Name, f.Field, view.OriginOf(f).Path)
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// varied returns findings with each state, result, severity, kind of place and kind of suggestion.
func varied() (list []report.Finding) {
	yaml := func(field, text string) *report.Suggestion { return &report.Suggestion{Field: field, YAML: text} }
	suggestions := []func(f *report.Finding){
		func(*report.Finding) {},
		func(f *report.Finding) { f.Suggestion = yaml(f.Field, "true") },
		func(f *report.Finding) {
			f.Suggestion = yaml("/spec/template/spec/securityContext", "runAsNonRoot: true\nfsGroup: 1")
		},
		func(f *report.Finding) { f.Suggestion = &report.Suggestion{Field: f.Field, Remove: true, Was: "false"} },
		func(f *report.Finding) {
			f.Suggestion = yaml(f.Field, "true")
			f.Suggestion.Diff = &report.Diff{Line: 7, Removed: []string{"  a: false"}, Added: []string{"  a: true"}}
		},
		func(f *report.Finding) { // a chart lacks the key
			f.Suggestion = yaml(f.Field, "true")
			f.Origin.Set, f.Origin.Missing = []string{"pod", "runAsNonRoot"}, "/pod/runAsNonRoot"
			f.Origin.Advice = "set pod.runAsNonRoot in the values"
		},
		func(f *report.Finding) { // a chart has a switch
			f.Suggestion = yaml(f.Field, "1000")
			on := true
			f.Origin.Set, f.Origin.Missing, f.Origin.Switch = []string{"hardened"}, "/hardened", &on
			f.Origin.Advice = "turn hardened on in the values"
		},
		func(f *report.Finding) { // a template prints a value whose lines are not known
			f.Suggestion = yaml(f.Field, "true")
			f.Origin.How = report.Identity
			f.Origin.Chain = []report.Place{{Path: "chart/templates/a.yaml", StartLine: 3, EndLine: 3, Role: "template"}}
		},
	}
	states := []func(f *report.Finding){
		func(f *report.Finding) { f.Blocks = true },
		func(f *report.Finding) { f.Blocks, f.New = true, false },
		func(f *report.Finding) { f.New = false },
		func(f *report.Finding) {
			f.Blocks, f.Exemption = true, &report.Exemption{Exception: "e", State: report.Pending}
		},
		func(f *report.Finding) { f.Result, f.Action = report.Warn, report.Audit },
		func(f *report.Finding) { f.Result, f.Action, f.Severity = report.Warn, report.Audit, "low" },
		func(f *report.Finding) { f.Result, f.Action, f.Blocks = report.Warn, report.Audit, true },
		func(f *report.Finding) { f.Result = report.Unknown },
		func(f *report.Finding) { f.Result = report.Error },
		func(f *report.Finding) {
			f.Result, f.Exemption = report.Skip, &report.Exemption{Exception: "e", State: report.Merged}
		},
	}
	for i, state := range states {
		for j, suggest := range suggestions {
			name := fmt.Sprintf("p%d-%d", i, j)
			f := report.Finding{Policy: name, Rule: "rule-of-it", Severity: "high", Resource: deployment("shop", name),
				Operation: "UPDATE", Result: report.Fail, Action: report.Enforce, New: true, Expected: "expected of " + name,
				Field: "/spec/template/spec/securityContext/runAsNonRoot", Message: "sentence of " + name + ".",
				PolicyPath: "policies/" + name + ".yaml", PolicyLine: 3, Roots: []string{"root"},
				Origin: &report.Origin{Path: "values/" + name + ".yaml", StartLine: 7, EndLine: 7, StartColumn: 3, EndColumn: 6}}
			state(&f)
			suggest(&f)
			list = append(list, f)
		}
	}
	return list
}

// TestFormatsAgree writes varied findings in all formats: each has the same level, sentence, place, advice and
// suggested fix.
func TestFormatsAgree(t *testing.T) {
	known := []string{"text", "json", "markdown", "html", "github", "sarif", "junit", "policyreport"}
	if names := Names[*report.Report](); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(known))) {
		t.Errorf("there are the formats %q: say below where a new one has the place and the level of a finding", names)
	}
	for _, f := range varied() {
		r := &report.Report{Conclusion: report.Failure, Title: "title", Findings: []report.Finding{f}}
		out := map[string]string{}
		for _, name := range Names[*report.Report]() {
			var b bytes.Buffer
			if err := Write(name, &b, r, Options{AllPlaces: true, Width: 200}); err != nil {
				t.Fatal(err)
			}
			out[name] = b.String()
		}
		notes, _ := Annotations(r)
		fix := view.FixOf(&f)
		level, fixed := view.LevelOf(&f), ""
		if fix != nil {
			fixed = strings.Join(fix.Rows, "\n")
		}
		is := func(format string, got, want any) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s: %v, want %v:\n%s", f.Policy, format, got, want, out[format])
			}
		}
		// texts contains the text of each format without its markup.
		texts := map[string]string{"text": out["text"], "markdown": plainMarkdown(out["markdown"] + Details(r, MarkdownOptions{}))}

		commands := regexp.MustCompile(`(?m)^::(\w+) file=([^,]*),line=(\d+),.*title=p.*?::(.*)$`).FindStringSubmatch(out["github"])
		if level == view.Ignored {
			is("github", len(commands), 0)
			is("annotations", len(notes), 0)
		} else if len(commands) == 0 || len(notes) != 1 {
			t.Fatalf("%s: no annotation:\n%s", f.Policy, out["github"])
		} else {
			is("github", commands[1], map[view.Level]string{view.Failure: "error", view.Warn: "warning", view.Notice: "notice"}[level])
			is("github", commands[2]+":"+commands[3], "values/"+f.Policy+".yaml:7")
			texts["github"] = strings.ReplaceAll(commands[4], "%0A", "\n")
			is("annotations", notes[0].Level, string(level))
			is("annotations", fmt.Sprint(notes[0].Path, ":", notes[0].StartLine), "values/"+f.Policy+".yaml:7")
			texts["annotations"] = notes[0].Message
		}

		var log sarifLog
		if err := json.Unmarshal([]byte(out["sarif"]), &log); err != nil {
			t.Fatal(err)
		}
		result := log.Runs[0].Results[0]
		want := map[view.Level]string{view.Failure: "error", view.Warn: "warning", view.Notice: "note", view.Ignored: "note"}[level]
		if f.Result == report.Unknown {
			want = "none" // SARIF has no other level for open results
		}
		is("sarif", result.Level, want)
		at := result.Locations[0].Physical
		is("sarif", fmt.Sprint(at.Artifact.URI, ":", at.Region.StartLine), "values/"+f.Policy+".yaml:7")
		texts["sarif"] = result.Message.Text

		var suites junitSuites
		if err := xml.Unmarshal([]byte(out["junit"]), &suites); err != nil {
			t.Fatal(err)
		}
		c := suites.Suites[1].Cases[0]
		is("junit", c.Failure != nil || c.Error != nil, level == view.Failure)
		is("junit", fmt.Sprint(c.File, ":", c.Line), "values/"+f.Policy+".yaml:7")
		for _, cause := range []*junitCause{c.Failure, c.Error, c.Skipped, {Text: c.Output}} {
			if cause != nil && cause.Text != "" {
				texts["junit"] = cause.Text
			}
		}

		var policies policyReport
		if err := yaml.Unmarshal([]byte(out["policyreport"]), &policies); err != nil {
			t.Fatal(err)
		}
		p := policies.Results[0]
		is("policyreport", p.Properties["blocks"] == "true", level == view.Failure)
		is("policyreport", p.Properties["path"]+":"+p.Properties["line"], "values/"+f.Policy+".yaml:7")
		is("policyreport", p.Properties["fix"], fixed)
		texts["policyreport"] = p.Message + "\n" + p.Properties["advice"] + "\n" + fixed

		if level == view.Ignored { // Markdown lists these at their exceptions
			delete(texts, "markdown")
		}
		page := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out["html"], ""))
		texts["html"] = page
		for _, format := range []string{"text", "markdown", "html"} {
			if text, ok := texts[format]; ok && !strings.Contains(text, "values/"+f.Policy+".yaml:7") {
				t.Errorf("%s: %s does not name the place:\n%s", f.Policy, format, text)
			}
		}
		for format, text := range texts {
			before := view.StateOf(&f) >= view.Before // text has a line for each of these, and Markdown a row
			for what, s := range map[string]string{"sentence": view.Sentence(&f), "expected": f.Expected, "advice": view.FixInstruction(&f),
				"fix": fixed} {
				toDo := format == "annotations" && what == "advice" && !strings.Contains(view.ToDo(&f), s)
				short := before && (format == "text" || format == "markdown" && what == "fix") ||
					format == "policyreport" && what == "expected"
				if !short && !toDo && !containsRows(text, s) {
					t.Errorf("%s: %s lacks the %s %q:\n%s", f.Policy, format, what, s, text)
				}
			}
			if rendered := "template:"; fix != nil && f.Origin.Set != nil && strings.Contains(text, rendered) {
				t.Errorf("%s: %s has the YAML of the rendered object at a value:\n%s", f.Policy, format, text)
			}
		}
	}
}

// containsRows reports whether a text contains all rows of another one in order.
func containsRows(text, rows string) bool {
	for row := range strings.SplitSeq(rows, "\n") {
		_, after, ok := strings.Cut(text, strings.TrimSpace(strings.TrimLeft(row, "+- ")))
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// plainMarkdown removes the references and breaks that keep text from being markup.
func plainMarkdown(s string) string {
	s = html.UnescapeString(strings.NewReplacer("<wbr>", "", "\\", "").Replace(s))
	return s
}

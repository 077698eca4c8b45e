package output

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

const evil = "a\x1b[31m\u202e\n::error::b ##[group]c <d> ☃"

func evalReport() *report.Evaluation {
	r := &report.Evaluation{Results: []report.EvaluationResult{},
		Errors: []report.Problem{{Path: evil, Line: 3, Message: evil}}, Conclusion: report.Failure}
	for range 300 {
		r.Results = append(r.Results, report.EvaluationResult{Policy: evil, Rule: evil,
			Resource: report.Resource{Kind: evil, Name: evil}, Result: report.Fail,
			Action: report.Enforce, Message: evil, Fields: []string{"/" + evil}, PolicyPath: evil, PolicyLine: 1, Path: evil,
			Places: []report.EvaluationPlace{{Field: "/" + evil, Line: 2, Column: 3, EndColumn: 5}}})
	}
	r.Trace = []report.EvaluationTrace{{Policy: evil, Rule: evil, Resource: report.Resource{Kind: evil}, Result: report.Fail,
		PolicyPath: evil, PolicyLine: 2, More: 3, Steps: []report.TraceStep{{Part: "match", At: evil, Holds: report.Undecided,
			What: evil, Error: evil, Values: []report.TraceValue{{Of: evil, Is: strings.Repeat(evil, 99)}}}}}}
	return r
}

// The JSON that is written in parts equals the JSON of the whole report.
func TestEvalJSON(t *testing.T) {
	for name, r := range map[string]*report.Evaluation{
		"many":       evalReport(),
		"no results": {Results: []report.EvaluationResult{}, Errors: []report.Problem{}, Conclusion: report.Success},
		"only warnings": {Results: []report.EvaluationResult{}, Errors: []report.Problem{},
			Warnings: []report.Problem{{Message: "w"}}, Stats: report.EvaluationStats{Pass: 2}},
	} {
		var out bytes.Buffer
		if err := evalJSON(&out, r, Options{}); err != nil {
			t.Fatal(err)
		}
		var got report.Evaluation
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out.Bytes())
		}
		if !reflect.DeepEqual(&got, r) {
			t.Errorf("%s: %+v, want %+v", name, got, r)
		}
		safeText(t, out.String())
	}
}

func TestEvalText(t *testing.T) {
	var out strings.Builder
	r := evalReport()
	r.Excerpts = map[string]map[int]string{evil: {1: evil, 2: evil, 3: evil}}
	if err := evalText(&out, r, Options{}); err != nil {
		t.Fatal(err)
	}
	safeText(t, out.String())
	if n := strings.Count(out.String(), "\n  fail     a"); n != 300 {
		t.Errorf("%d results\n%.500s", n, out.String())
	}
}

func TestTestRunForms(t *testing.T) {
	row := report.TestRow{File: evil, Policy: evil, Rule: evil, Resource: report.Resource{Kind: evil, Name: evil},
		Expected: "pass", Actual: "fail", Reason: evil}
	excluded := row
	excluded.Excluded = true
	r := &report.TestRun{Rows: []report.TestRow{row, excluded}, Errors: []report.Problem{{Path: evil, Message: evil}},
		Summary: report.TestSummary{Files: 1, Checked: 1, Failed: 1, Excluded: 1}}
	for _, name := range Names[*report.TestRun]() {
		var out strings.Builder
		if err := Write(name, &out, r, Options{Rows: AllRows}); err != nil {
			t.Fatal(name, err)
		}
		safeText(t, out.String())
	}
}

// safeText fails on text that a terminal or the log of a CI system would execute.
func safeText(t *testing.T, s string) {
	t.Helper()
	for _, bad := range []string{"\x1b", "\u202e", "##[", "\n::"} {
		if strings.Contains(s, bad) {
			t.Errorf("%q in %.300q", bad, s)
		}
	}
}

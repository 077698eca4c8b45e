package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// evalText writes an evaluation for people: the errors of the files, the results that are not passes by object, and the
// totals.
func evalText(w io.Writer, r *report.Evaluation, o Options) error {
	t := newText(&report.Report{Excerpts: r.Excerpts}, o)
	t.problems("error", red, r.Errors)
	var last report.Resource
	for _, res := range r.Results {
		if res.Result == report.Pass && !res.Combined {
			continue
		}
		if res.Resource != last {
			t.blank()
			t.head(t.paint.with(cyan), "", Line(res.Resource.String()), Line(res.Path))
			last = res.Resource
		}
		t.evalResult(&res)
	}
	t.blank()
	t.traces(r.Trace)
	t.problems("warning", yellow, r.Warnings)
	t.evalTotals(r)
	return t.write(w)
}

func (t *text) evalTotals(r *report.Evaluation) {
	if t.o.Counts {
		t.painted("", evalWork(r.Stats), t.paint.dim)
		s := r.Stats
		t.line(fmt.Sprintf("pass: %d, fail: %d, warn: %d, error: %d, skip: %d", s.Pass, s.Fail, s.Warn, s.Error+len(r.Errors),
			s.Skip))
		return
	}
	t.painted("", evalCounts(r), t.paint.with(toneOf(string(r.Conclusion))).mark)
	t.painted("", evalWork(r.Stats), t.paint.dim)
}

// evalTable writes all results as rows, as the kyverno command does with --table.
func evalTable(w io.Writer, r *report.Evaluation, o Options) error {
	t := newText(&report.Report{}, o)
	t.problems("error", red, r.Errors)
	rows := make([]tableRow, len(r.Results))
	for i := range r.Results {
		res := &r.Results[i]
		rows[i] = tableRow{cells: []string{fmt.Sprint(i + 1), res.Policy, res.Rule, qualifiedName(res.Resource),
			string(res.Result)}, tone: toneOf(string(res.Result))}
		if o.Messages {
			rows[i].note = res.Message
		}
	}
	t.table([]string{"ID", "POLICY", "RULE", "RESOURCE", "RESULT"}, rows)
	t.blank()
	t.problems("warning", yellow, r.Warnings)
	t.evalTotals(r)
	return t.write(w)
}

func (t *text) evalResult(r *report.EvaluationResult) {
	paint := t.paint.with(yellow)
	switch {
	case r.Blocks():
		paint = t.paint.with(red)
	case r.Result == report.Skip || r.Result == report.Pass:
		paint = t.paint.with(green)
	}
	name := view.Title(r.Policy, r.Rule)
	t.line("  " + paint.mark(string(r.Result)) + strings.Repeat(" ", max(1, 9-len(r.Result))) + Line(name))
	t.rows("           ", lines(view.Reason(r.Rule, r.Message)))
	if r.PolicyPath != "" {
		t.line("           " + t.paint.dim("rule: "+Line(view.Place(r.PolicyPath, r.PolicyLine, 0))))
	}
	t.evalPlaces(r, paint)
	if r.Tolerated {
		t.line("           " + t.paint.dim("the old object is in violation, too: such an update is let through"))
	}
	if r.Combined {
		words := "only " + strings.Join(r.Exceptions, " and ") + " together allow it: none of them alone does"
		t.line("           " + t.paint.dim(Line(words)))
	}
}

// evalPlaces writes the places of a result's fields, for the first few results with their source lines.
func (t *text) evalPlaces(r *report.EvaluationResult, paint painter) {
	const indent = "           "
	if len(r.Places) == 0 {
		for _, f := range r.Fields {
			if f != "" {
				t.line(indent + t.paint.dim(Line(view.FieldName(f))))
			}
		}
		return
	}
	for _, p := range r.Places {
		words := view.Place(r.Path, p.Line, p.Column)
		if p.Field != "" {
			words += "  " + view.FieldName(p.Field)
		}
		if p.Missing {
			words += " (missing)"
		}
		t.line(indent + t.paint.dim(Line(words)))
		s := span{startLine: p.Line, endLine: p.Line, start: p.Column, end: p.EndColumn}
		t.frame(r.Path, s, paint)
	}
}

func evalCounts(r *report.Evaluation) string {
	s := r.Stats
	return cmp.Or(strings.Join(report.Counts([]report.Number{
		{N: len(r.Errors), One: "file error", Many: "file errors"}, {N: s.Fail, One: "fail", Many: "fail"},
		{N: s.Error, One: "error", Many: "error"}, {N: s.Warn, One: "warn", Many: "warn"},
		{N: s.Unknown, One: "unknown", Many: "unknown"}, {N: s.Skip, One: "skip", Many: "skip"},
		{N: s.Pass, One: "pass", Many: "pass"},
	}), ", "), "no policy matches these resources")
}

func evalWork(s report.EvaluationStats) string {
	out := report.Count(s.Resources, "resource", "resources") + ", " + report.Count(s.Policies, "policy", "policies")
	if s.Exceptions > 0 {
		out += ", " + report.Count(s.Exceptions, "exception", "exceptions")
	}
	return out
}

// traces writes the reasons of each rule, by object. It omits generated rules for pod controllers that do not apply to
// the object.
func (t *text) traces(list []report.EvaluationTrace) {
	var last report.Resource
	for _, tr := range list {
		if tr.Result == "" && strings.HasPrefix(tr.Rule, "autogen-") {
			continue // the rule that it is generated from is shown
		}
		if tr.Resource != last {
			t.blank()
			t.line(t.paint.bold("Why, for " + Line(tr.Resource.String()) + ":"))
			last = tr.Resource
		}
		t.blank()
		tone := toneOf(string(tr.Result))
		if tr.Result == report.Skip {
			tone = yellow
		}
		where := Line(view.KnownPlace(tr.PolicyPath, tr.PolicyLine, 0))
		name := strings.TrimSuffix(tr.Policy+" / "+tr.Rule, " / ")
		t.head(t.paint.with(tone), "  "+Line(name), cmp.Or(string(tr.Result), "does not match"), where)
		for _, s := range tr.Steps {
			t.traceStep(s)
		}
		if tr.More > 0 {
			t.line(fmt.Sprintf("    and %s", report.Count(tr.More, "more step", "more steps")))
		}
	}
	t.blank()
}

// traceStep writes one step: whether it holds, its text, and its values below.
func (t *text) traceStep(s report.TraceStep) {
	marks := map[report.TraceOutcome]string{report.Holds: "✓", report.HoldsNot: "✗", report.Undecided: "?"}
	head := "    " + marks[s.Holds] + " " + Line(string(s.Part)+s.At)
	what := s.What
	if s.Error != "" {
		what = strings.TrimPrefix(what+": "+s.Error, ": ")
	}
	const indent = "        "
	if what = Line(what); what != "" && textWidth(head)+2+textWidth(what) <= t.width {
		t.line(head + "  " + what)
	} else {
		t.line(head)
		t.rows(indent, what)
	}
	for _, v := range s.Values {
		value := []rune(Line(v.Is))
		if room := 2 * t.width; len(value) > room {
			value = append(value[:room], '…')
		}
		t.rows(indent, Line(v.Of)+" = "+string(value))
	}
}

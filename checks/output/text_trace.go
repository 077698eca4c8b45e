package output

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// traces say why each rule said what it said, object by object. Rules that are generated for pod controllers and not
// about the object are left out.
func (t *text) traces(list []report.EvaluationTrace) {
	var last report.Resource
	for i := range list {
		tr := &list[i]
		if tr.Result == "" && strings.HasPrefix(tr.Rule, "autogen-") {
			continue // generated for other kinds: the rule that it is made of says as much
		}
		if tr.Resource != last {
			t.blank()
			t.line(t.paint.bold("Why, for " + line(tr.Resource.String()) + ":"))
			last = tr.Resource
		}
		t.blank()
		result := string(tr.Result)
		if result == "" {
			result = "not about it"
		}
		where := ""
		if tr.PolicyPath != "" {
			where = line(view.Place(tr.PolicyPath, tr.PolicyLine, 0))
		}
		name := strings.TrimSuffix(tr.Policy+" / "+tr.Rule, " / ")
		t.head(t.paint.with(toneOfTrace(tr.Result)), "  "+line(name), result, where)
		for j := range tr.Steps {
			t.traceStep(&tr.Steps[j])
		}
		if tr.More > 0 {
			t.line(fmt.Sprintf("    and %s", report.Count(tr.More, "more step", "more steps")))
		}
	}
	t.blank()
}

func toneOfTrace(r report.Result) string {
	switch r {
	case report.Fail, report.Error:
		return red
	case report.Pass:
		return green
	}
	return yellow
}

// traceStep writes one step: whether it holds, what it is, and below the values.
func (t *text) traceStep(s *report.TraceStep) {
	marks := map[report.Held]string{report.Holds: "✓", report.HoldsNot: "✗", report.Undecided: "?"}
	head := "    " + marks[s.Holds] + " " + line(string(s.Part)+s.At)
	what := s.What
	if s.Error != "" {
		what = strings.TrimPrefix(what+": "+s.Error, ": ")
	}
	const indent = "        "
	if what = line(what); what != "" && textWidth(head)+2+textWidth(what) <= t.width {
		t.line(head + "  " + what)
	} else {
		t.line(head)
		t.rows(indent, what)
	}
	for _, v := range s.Values {
		value := []rune(line(v.Is))
		if room := 2 * t.width; len(value) > room {
			value = append(value[:room], '…')
		}
		t.rows(indent, line(v.Of)+" = "+string(value))
	}
}

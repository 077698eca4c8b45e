package review

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

// Count adds the results of an answer to the numbers of a report.
func (a *Answer) Count(s *report.Stats) {
	if a.Mutations != nil {
		s.Mutated++
	}
	counts := map[report.Result]*int{report.Pass: &s.Passed, report.Skip: &s.Skipped, report.Error: &s.Errored,
		report.Unknown: &s.Unknown, report.Fail: &s.Failed, report.Warn: &s.Warned}
	for _, res := range a.Results {
		if n := counts[report.ResultOf(res.Outcome, res.Enforce)]; n != nil {
			*n++
		}
	}
}

// Combined lists the passes that needed more than one exception. Together, exceptions may permit what none of them
// permits alone.
func (a *Answer) Combined() (list []report.Problem) {
	for _, res := range a.Results {
		if !res.Combined {
			continue
		}
		list = append(list, report.Problem{Path: res.Policy.Path, Line: res.Policy.Line, Message: fmt.Sprintf(
			"%s / %s passes for %s only because %s are combined: none of them alone allows it",
			res.Policy.FullName(), res.Rule, Named(a.Pair.Resource().Object),
			strings.Join(engine.ExceptionNames(res.Exceptions), " and "))})
	}
	return list
}

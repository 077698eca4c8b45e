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
	for _, res := range a.Results {
		switch res.Outcome {
		case engine.Pass:
			s.Passed++
		case engine.Skip:
			s.Skipped++
		case engine.Error:
			s.Errored++
		case engine.Unknown:
			s.Unknown++
		case engine.Fail:
			if res.Enforce {
				s.Failed++
			} else {
				s.Warned++
			}
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

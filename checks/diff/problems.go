package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// Problems returns what rendering says as problems of a report, with words before each message.
func Problems(words string, list ...doc.Error) (problems []report.Problem) {
	for _, e := range list {
		problems = append(problems, report.Problem{Path: e.Path, Line: e.Line, Column: e.Column, Message: words + e.Message,
			Quotes: e.Quotes})
	}
	return problems
}

// fewRoots is how many roots a problem names.
const fewRoots = 5

// Failures returns what stands in the way of rendering the head: one problem for each mistake, with the names of the
// roots that it stops where it stops several.
func Failures(list []*Root) []report.Problem {
	var order []report.Problem
	stopped := map[report.Problem][]string{}
	for _, r := range list {
		for _, p := range Problems("", r.Head...) {
			if stopped[p] == nil {
				order = append(order, p)
			}
			if !slices.Contains(stopped[p], r.Name()) {
				stopped[p] = append(stopped[p], r.Name())
			}
		}
	}
	for i, p := range order {
		names := stopped[p]
		if len(names) == 1 {
			continue
		}
		shown := strings.Join(names[:min(fewRoots, len(names))], ", ")
		if more := len(names) - fewRoots; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		order[i].Message += fmt.Sprintf(" (this stops %d roots: %s)", len(names), shown)
	}
	return order
}

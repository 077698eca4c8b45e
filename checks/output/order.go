package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// byPlace is the findings in the order of files, lines and columns, the loudest first; those without a place come last.
func byPlace(findings []report.Finding) []*report.Finding {
	list := make([]*report.Finding, 0, len(findings))
	for i := range findings {
		list = append(list, &findings[i])
	}
	none := &report.Origin{}
	slices.SortStableFunc(list, func(a, b *report.Finding) int {
		x, y := cmp.Or(a.Origin, none), cmp.Or(b.Origin, none)
		if (x.Path == "") != (y.Path == "") {
			return strings.Compare(y.Path, x.Path)
		}
		return cmp.Or(
			strings.Compare(x.Path, y.Path), cmp.Compare(x.StartLine, y.StartLine), cmp.Compare(x.StartColumn, y.StartColumn),
			cmp.Compare(view.StateOf(a), view.StateOf(b)),
			strings.Compare(a.Policy, b.Policy), strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Resource.String(), b.Resource.String()))
	})
	return list
}

// only keeps the findings of the given states.
func only(list []*report.Finding, states ...view.State) []*report.Finding {
	var out []*report.Finding
	for _, f := range list {
		if slices.Contains(states, view.StateOf(f)) {
			out = append(out, f)
		}
	}
	return out
}

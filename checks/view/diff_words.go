package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// operations are those of differences in the words of people.
var operations = map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}

// Operation is what a difference does, as people say it.
func Operation(d *report.Difference) string {
	return cmp.Or(operations[d.Operation], strings.ToLower(d.Operation))
}

// DiffWords is "updated, +2 -1, in prod".
func DiffWords(d *report.Difference) string {
	words := Operation(d)
	if d.Replaces != nil {
		words += " in place of " + d.Replaces.Name
	}
	if d.From != "" {
		words += ", moved from " + d.From
	}
	words += ","
	if n := d.Added(); n > 0 {
		words += fmt.Sprintf(" +%d", n)
	}
	if n := d.Removed(); n > 0 {
		words += fmt.Sprintf(" -%d", n)
	}
	words = strings.TrimSuffix(words, ",")
	if len(d.Clusters) > 0 {
		words += ", in " + report.Some(d.Clusters, maxNames)
	}
	return words
}

// LeftOutWords says how many lines of a difference are not shown; empty where that is none.
func LeftOutWords(d *report.Difference) string {
	switch {
	case d.Withheld > 0:
		return report.Count(d.Withheld, "line is", "lines are") + " shown only to who may read the repository of origin"
	case d.LeftOut == 0:
		return ""
	}
	return report.Count(d.LeftOut, "more line is", "more lines are") + " not shown"
}

// DiffCounts says in one line what a change comes to.
func DiffCounts(d *report.Differences) string {
	n, roots := map[string]int{}, map[string]bool{}
	for i := range d.Differences {
		n[d.Differences[i].Operation]++
		for _, root := range d.Differences[i].Roots {
			roots[root] = true
		}
	}
	switch {
	case !d.Any() && UnknownWords(d) != "":
		return "Nothing differs in what could be rendered"
	case !d.Any():
		return "Nothing that is deployed differs"
	}
	var parts, words []string
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
		if n[operation] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[operation], operations[operation]))
		}
	}
	if len(parts) > 0 {
		words = append(words, fmt.Sprintf("%s in %s: %s", report.Count(len(d.Differences), "difference", "differences"),
			report.Count(len(roots), "root", "roots"), strings.Join(parts, ", ")))
	}
	words = append(words, report.Counts([]report.Number{
		{N: d.More, One: "more resource differs and is not listed", Many: "more resources differ and are not listed"},
		{N: d.Relabeled, One: "resource with another label of the version only", Many: "resources with another label of the version only"},
	})...)
	return strings.Join(words, "; ")
}

// UnknownWords says what of a change is not known; empty where that is nothing.
func UnknownWords(d *report.Differences) string {
	parts := report.Counts([]report.Number{{N: len(d.Errors), One: "error", Many: "errors"},
		{N: len(d.NotChecked), One: "not checked", Many: "not checked"}})
	if len(parts) == 0 {
		return ""
	}
	return "Not all of the change was rendered: " + strings.Join(parts, ", ")
}

// OtherRoots says how many roots were not asked for; empty where that is none.
func OtherRoots(d *report.Differences) string {
	if d.Others == 0 {
		return ""
	}
	return report.Count(d.Others, "other root", "other roots") + " of the change not asked for"
}

// LineOrigin is where a line is written, "path:line"; empty where that is not known. near says that the place only
// encloses it.
func LineOrigin(o *report.Origin) string {
	if o == nil {
		return ""
	}
	words := Place(o.Path, o.StartLine, 0)
	if o.How == report.Enclosing {
		words = "near " + words
	}
	return words
}

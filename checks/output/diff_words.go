package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// operationWords are the operations of differences in the words of people.
var operationWords = map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}

// diffWords is "updated, +2 -1, in prod".
func diffWords(d *report.Difference) string {
	words := cmp.Or(operationWords[d.Operation], strings.ToLower(d.Operation))
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
		words += ", in " + inWords(d.Clusters)
	}
	return words
}

// leftOutWords says how many lines of a difference are not shown; empty where that is none.
func leftOutWords(d *report.Difference) string {
	switch {
	case d.Withheld > 0:
		return report.Count(d.Withheld, "line is", "lines are") + " shown only to who may read the repository of origin"
	case d.LeftOut == 0:
		return ""
	}
	return report.Count(d.LeftOut, "more line is", "more lines are") + " not shown"
}

// diffCounts says in one line what a change comes to.
func diffCounts(d *report.Differences) string {
	n, roots := map[string]int{}, map[string]bool{}
	for i := range d.Differences {
		n[d.Differences[i].Operation]++
		for _, root := range d.Differences[i].Roots {
			roots[root] = true
		}
	}
	unknown := len(d.Errors)+len(d.NotChecked) > 0
	if !d.Any() {
		if unknown {
			return "Nothing differs in what could be rendered"
		}
		return "Nothing that is deployed differs"
	}
	var parts []string
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
		if n[operation] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[operation], operationWords[operation]))
		}
	}
	var words []string
	if len(parts) > 0 {
		words = append(words, fmt.Sprintf("%s in %s: %s", report.Count(len(d.Differences), "difference", "differences"),
			report.Count(len(roots), "root", "roots"), strings.Join(parts, ", ")))
	}
	if d.More > 0 {
		words = append(words, report.Count(d.More, "more resource differs and is", "more resources differ and are")+
			" not listed")
	}
	if d.Relabeled > 0 {
		words = append(words, report.Count(d.Relabeled, "resource", "resources")+" with another label of the version only")
	}
	return strings.Join(words, "; ")
}

// unknownWords says what of a change is not known; empty where that is nothing.
func unknownWords(d *report.Differences) string {
	var parts []string
	if n := len(d.Errors); n > 0 {
		parts = append(parts, report.Count(n, "error", "errors"))
	}
	if n := len(d.NotChecked); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not checked", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not all of the change was rendered: " + strings.Join(parts, ", ")
}

// otherRoots says how many roots were not asked for; empty where that is none.
func otherRoots(d *report.Differences) string {
	if d.Others == 0 {
		return ""
	}
	return report.Count(d.Others, "other root", "other roots") + " of the change not asked for"
}

// lineOrigin is where a line is written, "path:line"; empty where that is not known. near says that the place only
// encloses it.
func lineOrigin(o *report.Origin) string {
	if o == nil {
		return ""
	}
	words := view.Place(o.Path, o.StartLine, 0)
	if o.How == report.Enclosing {
		words = "near " + words
	}
	return words
}

package view

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// BumpsTitle is the heading of changes by new versions of remote sources.
const BumpsTitle = "What version updates change in the cluster"

// MoreBumps counts the omitted roots with another version, in words; empty if there are none.
func MoreBumps(r *report.Report) string {
	if r.MoreBumps == 0 {
		return ""
	}
	return report.Count(r.MoreBumps, "more root has", "more roots have") + " other versions and are not listed."
}

// Versions is the old and the new version: "6.5.0 → 6.6.0".
func Versions(m *report.Moved) string {
	from, to := m.From.String(), m.To.String()
	if from == to {
		return to + ", with another content"
	}
	return from + " → " + to
}

// BumpCounts counts the changes of a root's resources in one line.
func BumpCounts(b *report.Bump) string {
	parts := report.Counts([]report.Number{
		{N: len(b.Added), One: "added", Many: "added"}, {N: len(b.Removed), One: "removed", Many: "removed"},
		{N: len(b.Changed), One: "changed", Many: "changed"},
		{N: b.Relabeled, One: "where only the version label differs", Many: "where only the version label differs"},
	})
	if len(parts) == 0 {
		return "no resource changes"
	}
	text := "resources: " + strings.Join(parts, ", ")
	if b.LeftOut > 0 {
		text += ", and " + report.Count(b.LeftOut, "more entry is", "more entries are") + " not listed"
	}
	return text
}

// ImageWords lists the changes of images, each once, sorted by the number of containers.
func ImageWords(images []report.ImageChange) []string {
	count := map[string]int{}
	for _, i := range images {
		count[imageWord(i.From, i.To)]++
	}
	return slices.SortedFunc(maps.Keys(count), func(x, y string) int {
		return cmp.Or(count[y]-count[x], strings.Compare(x, y))
	})
}

// imageWord is "ghcr.io/acme/web 1.0 → 1.1".
func imageWord(from, to string) string {
	switch {
	case from == "":
		return to + " (new)"
	case to == "":
		return from + " (gone)"
	}
	name, old := splitImage(from)
	if other, tag := splitImage(to); other == name && old != "" && tag != "" {
		return name + " " + old + " → " + tag
	}
	return from + " → " + to
}

func splitImage(image string) (name, version string) {
	if name, digest, ok := strings.Cut(image, "@"); ok {
		name, tag := splitImage(name)
		return name, strings.TrimPrefix(tag+"@"+digest, "@")
	}
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], image[i+1:]
	}
	return image, ""
}

// CareWords lists the parts of a bump that a person should review.
func CareWords(b *report.Bump) (list []string) {
	if b.Problem != "" {
		list = append(list, b.Problem)
	}
	if b.Violations > 0 {
		list = append(list, report.Count(b.Violations, "new violation", "new violations"))
	}
	for _, c := range b.CRDs {
		list = append(list, "CRD "+c.Name+": "+strings.Join(c.Says, ", "))
	}
	for _, g := range b.Grants {
		words := " gets new permissions: "
		if g.Added {
			words = " is new, with the permissions: "
		}
		rules := strings.Join(g.Rules, "; ")
		if g.LeftOut > 0 {
			rules += fmt.Sprintf("; and %d more", g.LeftOut)
		}
		list = append(list, g.Resource.String()+words+rules)
	}
	for _, v := range b.Values {
		words := v.String()
		if v.Path != "" {
			words += " (" + Place(v.Path, v.Line, 0) + ")"
		}
		list = append(list, words)
	}
	return list
}

// operations are the operations of differences in words.
var operations = map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}

// Operation is the operation of a difference in words.
func Operation(d *report.Difference) string {
	return cmp.Or(operations[d.Operation], strings.ToLower(d.Operation))
}

// DiffWords is "updated, +2 -1, in prod".
func DiffWords(d *report.Difference) string {
	words := Operation(d)
	switch {
	case d.Replaces != nil && *d.Replaces == d.Resource:
		words += " again"
	case d.Replaces != nil:
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

// LeftOutWords counts the lines of a difference that are not shown; empty if there are none.
func LeftOutWords(d *report.Difference) string {
	switch {
	case d.Withheld > 0:
		return report.Count(d.Withheld, "line is", "lines are") + " shown only to those who may read the source repository"
	case d.LeftOut == 0:
		return ""
	}
	return MoreLines(d.LeftOut)
}

// MoreLines counts omitted lines.
func MoreLines(n int) string { return report.Count(n, "more line is", "more lines are") + " not shown" }

// DiffCounts counts the differences of a change in one line.
func DiffCounts(d *report.Differences) string {
	n := map[string]int{}
	var roots []string
	for _, one := range d.Differences {
		n[one.Operation]++
		roots = append(roots, one.Roots...)
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
			report.Count(len(Distinct(roots)), "root", "roots"), strings.Join(parts, ", ")))
	}
	words = append(words, report.Counts([]report.Number{
		{N: d.More, One: "more resource differs and is not listed", Many: "more resources differ and are not listed"},
		{N: d.Relabeled, One: "resource where only the version label differs", Many: "resources where only the version label differs"},
	})...)
	return strings.Join(words, "; ")
}

// ClusterChangesTitle is the heading of the changes by cluster.
const ClusterChangesTitle = "What changes in clusters"

// ClusterChanges returns a table of the changes of deployed resources, with the names of its columns. The column of
// clusters is left out if no cluster is known. Applications with equal changes share a row.
func ClusterChanges(list []report.RootChange) (columns []string, rows [][]string) {
	columns = []string{"Cluster", "Application", "Added", "Changed", "Removed", "Images"}
	known := false
	for _, same := range report.Grouped[[]report.RootChange](list, func(c report.RootChange) string {
		return fmt.Sprintf("%d %d %d %q", c.Added, c.Changed, c.Removed, ImageWords(c.Images))
	}) {
		var clusters, roots []string
		for _, c := range same {
			clusters, roots = append(clusters, c.Clusters...), append(roots, c.Root)
		}
		clusters = Distinct(clusters)
		known = known || len(clusters) > 0
		c := same[0]
		rows = append(rows, []string{report.Some(clusters, fewNames), report.Some(roots, fewNames), some(c.Added),
			some(c.Changed), some(c.Removed),
			digest.ReplaceAllString(report.Some(ImageWords(c.Images), fewImages), "$1…")})
	}
	if !known {
		columns = columns[1:]
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return columns, rows
}

// some is a number, empty for zero, so that a table shows only what there is.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// fewNames is the maximum number of names in a cell, fewImages the maximum number of images.
const fewNames, fewImages = 3, 2

// digest matches the digest of an image, and the part of it that is shown where there is little room.
var digest = regexp.MustCompile(`(sha256:[0-9a-f]{12})[0-9a-f]{52}`)

// UnknownWords counts the unknown parts of a change; empty if there are none.
func UnknownWords(d *report.Differences) string {
	parts := report.Counts([]report.Number{{N: len(d.Errors), One: "error", Many: "errors"},
		{N: len(d.NotChecked), One: "not checked", Many: "not checked"}})
	if len(parts) == 0 {
		return ""
	}
	return "Not all of the change was rendered: " + strings.Join(parts, ", ")
}

// OtherRoots counts the affected roots that were not selected; empty if there are none.
func OtherRoots(d *report.Differences) string {
	if d.Others == 0 {
		return ""
	}
	return report.Count(d.Others, "other root", "other roots") + " of the change not selected"
}

// LineOrigin is the place of a line, "path:line"; empty if unknown. near says that the place only encloses it.
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

// PreviewTitle is the heading of a preview.
const PreviewTitle = "Preview: what this change does to the rules"

// PreviewItems lists the sentences of a preview: settings, policies, exceptions, tests.
func PreviewItems(p *report.Preview) (list []Item) {
	if words := p.SettingsWords(); words != "" {
		list = append(list, Item{Words: words, Path: report.SettingsPath})
	}
	for _, o := range p.Policies {
		list = append(list, Item{Words: o.Words(), Path: o.Path, Line: o.Line, Gone: o.Edit == report.Removed})
	}
	for _, x := range p.Exceptions {
		list = append(list, Item{Words: x.Words(), Path: x.Path, Line: x.Line, Gone: x.Edit == report.Removed})
	}
	if words := p.TestWords(); words != "" {
		list = append(list, Item{Words: words})
	}
	return list
}

// PreviewIntro says what was previewed.
func PreviewIntro(r *report.Report) string {
	p, intro := r.Preview, "This check used the rules of the base branch."
	if r.Concerned {
		intro = "The change is in another repository, whose rules this repository uses."
	}
	if p.Stats.Roots > 0 {
		intro += " Once merged, for " + p.Scope() + ":"
	}
	return intro
}

// Becomes is "pass → fail".
func Becomes(f *report.PreviewFinding) string {
	name := func(r report.Result) string {
		if r == report.Skip {
			return "excepted"
		}
		return cmp.Or(string(r), "no rule")
	}
	words := name(f.Before) + " → " + name(f.After)
	if f.Exception != "" {
		words += ", exception " + f.Exception
	}
	return words
}

// PreviewResources names the resources of a difference.
func PreviewResources(f *report.PreviewFinding) string {
	words := f.Resource.String()
	if n := len(f.Resources) + f.More.Resources; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	if n := len(f.Roots) + f.More.Roots; n > 1 {
		words += fmt.Sprintf(" in %d roots", n)
	}
	return words
}

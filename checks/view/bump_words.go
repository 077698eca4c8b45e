package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// BumpsTitle is the heading of what other versions of things from outside change.
const BumpsTitle = "What other versions change in the cluster"

// MoreBumps says how many roots with another version are not told of; empty where that is none.
func MoreBumps(r *report.Report) string {
	if r.MoreBumps == 0 {
		return ""
	}
	return report.Count(r.MoreBumps, "more root has", "more roots have") + " other versions and are not listed."
}

// Versions is "6.5.0 → 6.6.0".
func Versions(m *report.Moved) string {
	from, to := m.From.String(), m.To.String()
	if from == to {
		return to + ", with another content"
	}
	return from + " → " + to
}

// BumpCounts says in one line what becomes of the resources of a root.
func BumpCounts(b *report.Bump) string {
	parts := report.Counts([]report.Number{
		{N: len(b.Added), One: "added", Many: "added"}, {N: len(b.Removed), One: "removed", Many: "removed"},
		{N: len(b.Changed), One: "changed", Many: "changed"},
		{N: b.Relabeled, One: "with another label of the version only", Many: "with another label of the version only"},
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

// ImageWords are the changes of images, each once, those that most containers have first.
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

// splitImage splits an image into its name and its tag or digest.
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

// CareWords is what of a bump somebody should look at.
func CareWords(b *report.Bump) (list []string) {
	if b.Problem != "" {
		list = append(list, b.Problem)
	}
	if b.Violations > 0 {
		list = append(list, report.Count(b.Violations, "new violation", "new violations"))
	}
	for i := range b.CRDs {
		c := &b.CRDs[i]
		list = append(list, "CRD "+c.Name+": "+strings.Join(c.Says, ", "))
	}
	for i := range b.Grants {
		g := &b.Grants[i]
		words := " may more: "
		if g.Added {
			words = " is new and may: "
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

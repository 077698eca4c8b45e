package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

const bumpsTitle = "What other versions change in the cluster"

// moreBumps says how many roots with another version are not told of; empty where that is none.
func moreBumps(r *report.Report) string {
	if r.MoreBumps == 0 {
		return ""
	}
	return report.Count(r.MoreBumps, "more root has", "more roots have") + " other versions and are not listed."
}

// versions is "6.5.0 → 6.6.0".
func versions(m *report.Moved) string {
	from, to := m.From.String(), m.To.String()
	if from == to {
		return to + ", with another content"
	}
	return from + " → " + to
}

// bumpCounts says in one line what becomes of the resources of a root.
func bumpCounts(b *report.Bump) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(len(b.Added), "added")
	add(len(b.Removed), "removed")
	add(len(b.Changed), "changed")
	add(b.Relabeled, "with another label of the version only")
	if len(parts) == 0 {
		return "no resource changes"
	}
	text := "resources: " + strings.Join(parts, ", ")
	if b.LeftOut > 0 {
		text += ", and " + report.Count(b.LeftOut, "more entry is", "more entries are") + " not listed"
	}
	return text
}

// imageWords are the changes of images, each once, those that most containers have first.
func imageWords(b *report.Bump) []string {
	count := map[string]int{}
	for _, i := range b.Images {
		count[imageWord(i.From, i.To)]++
	}
	var list []string
	for words := range count {
		list = append(list, words)
	}
	slices.SortFunc(list, func(x, y string) int { return cmp.Or(count[y]-count[x], strings.Compare(x, y)) })
	return list
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

// careWords is what of a bump somebody should look at.
func careWords(b *report.Bump) (list []string) {
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
			words += " (" + view.Place(v.Path, v.Line, 0) + ")"
		}
		list = append(list, words)
	}
	return list
}

package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// placesListed is how many places Markdown lists for one resource.
const placesListed = 30

// diffMarkdown writes the changes of rendered resources: a fold for each resource, with the places of the changed
// lines.
func diffMarkdown(w io.Writer, d *report.Differences, _ Options) error {
	m := &markdown{report: &report.Report{Errors: d.Errors, NotChecked: d.NotChecked, Warnings: d.Warnings},
		places: placesListed}
	head := "**" + prose(view.DiffCounts(d)) + "**\n"
	for _, words := range []string{view.UnknownWords(d), view.OtherRoots(d)} {
		if words != "" {
			head += "\n" + prose(words) + "\n"
		}
	}
	images := section{head: "\n#### Images\n\n", one: "image", many: "images",
		rows: report.Mapped(view.ImageWords(d.Images), func(s string) string { return "- " + code(s) + "\n" })}
	sections := []section{m.problems("Errors", d.Errors), m.causes(nil), m.clusters(d.RootChanges), m.rendered(d.Differences), images}
	_, err := io.WriteString(w, assemble(head, sections, []section{m.problems("Warnings", d.Warnings)}, "", 0, ""))
	return err
}

// rendered returns differences of resources, folded.
func (m *markdown) rendered(list []report.Difference) section {
	s := section{head: "\n#### Rendered differences\n", one: "resource", many: "resources"}
	for _, d := range list {
		var b strings.Builder
		fmt.Fprintf(&b, "\n<details><summary>%s: %s (%s)</summary>\n\n", codeTag(d.Resource.String()), prose(view.DiffWords(&d)),
			codeTag(strings.Join(d.Roots, ", ")))
		var text strings.Builder
		for _, h := range d.Hunks {
			text.WriteString(tameTags(Line(h.Head())) + "\n")
			for _, r := range rowsOf(&h) {
				text.WriteString(tame(strings.TrimRight(r.sign+r.text, " ")) + "\n")
			}
		}
		if text.Len() > 0 {
			b.WriteString(fence("diff", text.String()))
		}
		if left := view.LeftOutWords(&d); left != "" {
			b.WriteString("\n" + left + ".\n")
		}
		if places := m.placesOf(&d); len(places) > 0 {
			shown := andMore(places[:min(len(places), placesListed)], len(places)-placesListed)
			b.WriteString("\nWritten at " + strings.Join(shown, ", ") + "\n")
		}
		b.WriteString("\n</details>\n")
		s.rows = append(s.rows, b.String())
	}
	return s
}

// placesOf returns the places of the lines that differ, each once, with consecutive lines joined: first those of the
// head, then those of the base only.
func (m *markdown) placesOf(d *report.Difference) (places []string) {
	seen := map[string]bool{}
	for _, side := range []report.Side{report.Head, report.Base} {
		lines := map[string][]int{}
		var files []string
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				o := l.Origin
				if o == nil || o.Side != side || seen[view.Place(o.Path, o.StartLine, 0)] {
					continue
				}
				seen[view.Place(o.Path, o.StartLine, 0)] = true
				if lines[o.Path] == nil {
					files = append(files, o.Path)
				}
				lines[o.Path] = append(lines[o.Path], o.StartLine)
			}
		}
		for _, file := range files {
			of := lines[file]
			slices.Sort(of)
			for i := 0; i < len(of); {
				first := i
				for i++; i < len(of) && of[i] == of[i-1]+1; i++ {
				}
				at := view.Place(file, of[first], 0)
				if i-first > 1 {
					at += fmt.Sprintf("-%d", of[i-1])
				}
				if side == report.Base {
					places = append(places, code(at)+" (before)")
				} else {
					places = append(places, link(at, m.blob(file, of[first])))
				}
			}
		}
	}
	return places
}

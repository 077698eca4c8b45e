package output

import (
	"html/template"
	"strconv"
	"strings"
)

// Most of a page are lines of code, for which a template takes many times as long as writing them directly. Therefore
// lineWriter writes them. It writes text of others through text or link only, which escape it (template.HTMLEscape is
// correct between tags and in quoted attributes). It omits optional tags
// (https://html.spec.whatwg.org/multipage/syntax.html#optional-tags), which were a tenth of the page.
type lineWriter struct{ strings.Builder }

func (w *lineWriter) text(s string) { template.HTMLEscape(w, []byte(s)) }

func (w *lineWriter) link(l Link) {
	href := l.Href()
	if href == "" {
		w.text(l.Text)
		return
	}
	w.WriteString(`<a href="`)
	w.text(href)
	w.WriteString(`">`)
	w.text(l.Text)
	w.WriteString(`</a>`)
}

func codeTable(lines []CodeLine) template.HTML {
	if len(lines) == 0 {
		return ""
	}
	var w lineWriter
	w.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="Source lines"><table class="code">`)
	for _, l := range lines {
		w.WriteString("<tr")
		if l.Here {
			w.WriteString(" class=here")
		}
		w.WriteString("><th scope=row>" + strconv.Itoa(l.Number) + "<td>")
		w.text(l.Before)
		if l.Marked != "" {
			w.WriteString("<mark>")
			w.text(l.Marked)
			w.WriteString("</mark>")
		}
		w.text(l.After)
	}
	w.WriteString("</table></div>")
	return template.HTML(w.String())
}

var diffClasses = map[string]string{"+": " class=add", "-": " class=del", "@": " class=part"}

func diffTable(lines []DiffLine) template.HTML {
	var w lineWriter
	w.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="Difference"><table class="code diff">`)
	for _, l := range lines {
		w.WriteString("<tr" + diffClasses[l.Sign] + "><td>" + strings.Trim(l.Sign, " @") + "<td>")
		for _, word := range l.Words {
			if word.Differs {
				w.WriteString("<b>")
				w.text(word.Text)
				w.WriteString("</b>")
			} else {
				w.text(word.Text)
			}
		}
		if l.Where.Text != "" {
			w.WriteString("<td class=from>")
			if l.Where.Href() == "" {
				w.WriteString("<span>")
				w.text(l.Where.Text)
				w.WriteString("</span>")
			} else {
				w.link(l.Where)
			}
		} else {
			w.WriteString("<td>") // otherwise, the color of the row would end before this cell
		}
	}
	w.WriteString("</table></div>")
	return template.HTML(w.String())
}

func placeOf(l Link) template.HTML {
	if l.Text == "" {
		return ""
	}
	var w lineWriter
	w.WriteString(`<code class="place">`)
	w.link(l)
	w.WriteString("</code>")
	return template.HTML(w.String())
}

func codeNames(list []string) template.HTML {
	var w lineWriter
	for i, s := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString("<code>")
		w.text(s)
		w.WriteString("</code>")
	}
	return template.HTML(w.String())
}

package main

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/lintel-bot/lintel/bot/githubtest"
	"github.com/lintel-bot/lintel/checks/output"
)

// contextLines is how many lines are shown above and below an annotated one.
const contextLines = 2

// ANSI styles.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

// printer shows check runs as text.
type printer struct {
	out   io.Writer
	color bool
}

// colorful reports whether the output is a terminal whose user did not disable colors (https://no-color.org).
func colorful() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}

func (p printer) style(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p printer) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// look returns the sign and style of a conclusion or of an annotation's level.
func look(word string) (sign, style string) {
	switch word {
	case "success":
		return "✓", green
	case "failure", "timed_out":
		return "✗", red
	case "action_required", "warning":
		return "!", yellow
	case "notice":
		return "i", blue
	}
	return "■", dim
}

// checkRun shows a check run like its page on GitHub: conclusion, title, summary, then the annotations below their
// lines. source returns the lines of a file at the head.
func (p printer) checkRun(run githubtest.Run, where string, source func(path string) []string) {
	sign, style := look(run.Conclusion)
	rule := p.style(dim, strings.Repeat("─", 100))
	p.line("\n%s", rule)
	p.line("%s  %s  %s", p.style(style, sign), p.style(bold, run.Name+": "+run.Conclusion),
		p.style(dim, fmt.Sprintf("%s, commit %.7s", where, run.HeadSHA)))
	p.line("   %s\n%s", p.style(bold, run.Title), rule)
	for _, text := range []string{run.Summary, run.Text} {
		if text = strings.TrimSpace(plain(text)); text != "" {
			p.line("\n%s", text)
		}
	}
	p.line("\n%s", p.style(bold, fmt.Sprintf("Annotations (%d)", len(run.Annotations))))
	list := slices.Clone(run.Annotations)
	slices.SortStableFunc(list, func(a, b githubtest.Annotation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.EndLine, b.EndLine))
	})
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Path == list[0].Path {
			n++
		}
		p.file(list[0].Path, source(list[0].Path), list[:n])
		list = list[n:]
	}
	p.line("%s", rule)
}

// plain converts Markdown for a terminal, which does not interpret tags and character references. Of links, it keeps
// the text.
func plain(markdown string) string {
	for _, r := range []struct{ found, shown string }{
		{`<br>`, "; "}, {`<summary>`, "▸ "}, {`</?[a-z]+( [^<>]*)?>`, ""},
		{"\\[(`[^`]*`)\\]\\([^()\\s]*\\)", "$1"}, {`\\([][*_~$#+=.)-])`, "$1"},
	} {
		markdown = regexp.MustCompile(r.found).ReplaceAllString(markdown, r.shown)
	}
	var rows []string
	for row := range strings.SplitSeq(html.UnescapeString(markdown), "\n") {
		rows = append(rows, output.Line(row))
	}
	return strings.Join(rows, "\n")
}

// file shows the annotated parts of one file. The annotations are ordered by their last lines.
func (p printer) file(path string, lines []string, list []githubtest.Annotation) {
	p.line("\n  %s", p.style(bold, path))
	shown := 0 // last printed line
	for n := 1; n <= max(len(lines), list[len(list)-1].EndLine); n++ {
		near := func(margin int) bool {
			return slices.ContainsFunc(list, func(a githubtest.Annotation) bool {
				return a.StartLine-margin <= n && n <= a.EndLine+margin
			})
		}
		if n <= len(lines) && near(contextLines) {
			if shown > 0 && n > shown+1 {
				p.line("  %s", p.style(dim, "   ⋮"))
			}
			p.source(lines, n, near(0))
			shown = n
		}
		for _, a := range list {
			if a.EndLine == n {
				p.note(a)
			}
		}
	}
}

func (p printer) source(lines []string, n int, marked bool) {
	number, style := fmt.Sprintf("%4d", n), dim
	if marked {
		style = bold
	}
	p.line("  %s %s %s", p.style(style, number), p.style(dim, "│"), lines[n-1])
}

// note shows one annotation below its last line, with carets if it has columns.
func (p printer) note(a githubtest.Annotation) {
	sign, style := look(a.Level)
	bar := "       " + p.style(dim, "│") + " "
	if a.StartColumn != nil && a.EndColumn != nil {
		p.line("%s%s%s", bar, strings.Repeat(" ", *a.StartColumn-1),
			p.style(style, strings.Repeat("^", max(1, *a.EndColumn-*a.StartColumn+1))))
	}
	title := cmp.Or(a.Title, a.Level)
	p.line("%s%s %s", bar, p.style(style, sign), p.style(bold, title))
	for text := range strings.Lines(strings.TrimSpace(a.Message)) {
		p.line("%s  %s", bar, strings.TrimRight(text, "\n"))
	}
}

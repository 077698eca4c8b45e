package checks

import (
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
)

// excerptLines is the number of lines shown around a place. excerptWidth limits the bytes of a line, and the bytes
// after a place's last column; excerptMost limits a line in any case.
const (
	excerptLines = 2
	excerptWidth = 300
	excerptMost  = 16 << 10 // limit for a line whose place is far to the right
	maxExcerpt   = 64 << 10 // bytes of a line that are searched for values of Secrets
)

// excerpts returns the source lines around the findings and errors, by path and line, without values of Secrets. Lines
// of the base are shown only for files that the head does not have.
//
// widths is the number of bytes to show of lines that need more than excerptWidth.
func excerpts(trees *diff.Trees, files *maskedFiles, rep *report.Report) (out map[string]map[int]string,
	widths map[string]map[int]int,
) {
	out, widths = map[string]map[int]string{}, map[string]map[int]int{}
	lines := func(path string, base bool) []string {
		if !base {
			return files.head(path).Lines()
		}
		if _, err := trees.Head.Tree.Entry(path); err == nil {
			return nil
		}
		return files.file(trees.Base.Tree, path).Lines()
	}
	add := func(path string, start, end, column int, base bool) {
		if path == "" || start < 1 {
			return
		}
		all := lines(path, base)
		for n := max(1, start-excerptLines); n <= min(len(all), max(start, min(end, start+excerptLines))+excerptLines); n++ {
			if out[path] == nil {
				out[path] = map[int]string{}
			}
			out[path][n] = all[n-1][:min(len(all[n-1]), maxExcerpt)]
			if n == start {
				if widths[path] == nil {
					widths[path] = map[int]int{}
				}
				widths[path][n] = max(widths[path][n], min(excerptWidth+column*utf8.UTFMax, excerptMost))
			}
		}
	}
	for _, f := range rep.Findings {
		if f.Result != report.Skip {
			add(f.Origin.Path, f.Origin.StartLine, f.Origin.EndLine, f.Origin.EndColumn, f.Origin.Side == "base")
		}
	}
	for _, n := range rep.NotChecked {
		add(n.Path, n.Line, n.Line, 0, n.Side == report.Base)
	}
	for _, c := range rep.Causes {
		add(c.Path, c.Line, c.Line, 0, false)
	}
	for _, p := range rep.Errors {
		add(p.Path, p.Line, p.Line, p.Column, false)
	}
	return out, widths
}

// cutExcerpts cuts lines to their shown width. It runs after masking, since masking needs whole lines.
func cutExcerpts(lines map[string]map[int]string, widths map[string]map[int]int) {
	for path, file := range lines {
		for n, text := range file {
			if width := max(excerptWidth, widths[path][n]); len(text) > width {
				text = strings.ToValidUTF8(text[:width], "") + "…"
			}
			file[n] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
}

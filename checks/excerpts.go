package checks

import (
	"strings"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
)

// excerptLines is how many lines around a place are shown, excerptWidth how many bytes of one, and behind the last
// column of a place; excerptMost is how many of one in any case.
const (
	excerptLines = 2
	excerptWidth = 300
	excerptMost  = 16 << 10 // likewise of one in which a place is far to the right
	maxExcerpt   = 64 << 10 // bytes that are looked through for what Secrets hold
)

// excerpts collects the source lines around the findings and errors, without what they say of Secrets. Lines of the base
// are shown only for files that the head does not have.
//
// widths is up to how many bytes they are to be shown, where that is more than usual.
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
		add(n.Path, n.Line, n.Line, 0, false)
	}
	for _, c := range rep.Causes {
		add(c.Path, c.Line, c.Line, 0, false)
	}
	for _, p := range rep.Errors {
		add(p.Path, p.Line, p.Line, p.Column, false)
	}
	return out, widths
}

// cutExcerpts cuts lines to what is shown: not before all is hidden in them that has to be.
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

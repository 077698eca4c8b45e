package checks

import (
	"fmt"
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
	excerptMost  = 16 << 10
)

// excerpts collects the source lines around the findings and errors. Lines of the base are shown only for files
// that the head does not have.
func excerpts(trees *diff.Trees, rep *report.Report) map[string]map[int]string {
	out := map[string]map[int]string{}
	cached := map[string][]string{}
	lines := func(path string, base bool) []string {
		key := fmt.Sprint(base, path)
		if known, ok := cached[key]; ok {
			return known
		}
		t := trees.Head.Tree
		if base {
			if _, err := trees.Head.Tree.Entry(path); err == nil {
				cached[key] = nil
				return nil
			}
			t = trees.Base.Tree
		}
		var list []string
		if data, _, err := t.ReadFile(path); err == nil {
			list = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
		}
		cached[key] = list
		return list
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
			width := excerptWidth
			if n == start {
				width = min(width+column*utf8.UTFMax, excerptMost)
			}
			text := all[n-1]
			if len(text) > width {
				text = strings.ToValidUTF8(text[:width], "") + "…"
			}
			// Two places on one line: the longer excerpt has both.
			known, ok := out[path][n]
			if text = strings.ToValidUTF8(text, "\uFFFD"); !ok || len(text) > len(known) {
				out[path][n] = text
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
	for _, p := range rep.Errors {
		add(p.Path, p.Line, p.Line, p.Column, false)
	}
	return out
}

package checks

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
)

// excerptLines is how many lines around a place are shown, excerptWidth how many bytes of one.
const (
	excerptLines = 2
	excerptWidth = 300
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
	add := func(path string, start, end int, base bool) {
		if path == "" || start < 1 {
			return
		}
		all := lines(path, base)
		for n := max(1, start-excerptLines); n <= min(len(all), max(start, min(end, start+excerptLines))+excerptLines); n++ {
			if out[path] == nil {
				out[path] = map[int]string{}
			}
			text := all[n-1]
			if len(text) > excerptWidth {
				text = strings.ToValidUTF8(text[:excerptWidth], "") + "…"
			}
			out[path][n] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	for _, f := range rep.Findings {
		if f.Result != report.Skip {
			add(f.Origin.Path, f.Origin.StartLine, f.Origin.EndLine, f.Origin.Side == "base")
		}
	}
	for _, n := range rep.NotChecked {
		add(n.Path, n.Line, n.Line, false)
	}
	for _, p := range rep.Errors {
		add(p.Path, p.Line, p.Line, false)
	}
	return out
}

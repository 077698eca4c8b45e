package checks

import (
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/tree"
)

// suggestLines puts what the findings suggest into lines of their files, where these are known and hold no value of a
// Secret.
func suggestLines(head *tree.Tree, files *maskedFiles, findings []report.Finding) {
	byPath := map[string][]*report.Finding{}
	var paths []string
	for i := range findings {
		f := &findings[i]
		if f.Suggestion == nil || f.Origin == nil || f.Origin.Side != report.Head {
			continue
		}
		if byPath[f.Origin.Path] == nil {
			paths = append(paths, f.Origin.Path)
		}
		byPath[f.Origin.Path] = append(byPath[f.Origin.Path], f)
	}
	deploy.Each(len(paths), func(i int) {
		data, _, err := head.ReadFile(paths[i])
		if err != nil {
			return
		}
		file := review.LinesOf(data)
		for _, f := range byPath[paths[i]] {
			d := edit(file, f)
			if d != nil && !files.showable(f.Origin.Path, d) {
				d = nil
			}
			f.Suggestion.Diff = d
		}
	})
}

// showable reports whether nothing is secret in the lines of a file that an edit shows. The line above is shown as
// excerpts have it.
func (m *maskedFiles) showable(path string, d *report.Diff) bool {
	f := m.head(path)
	for i := range d.Removed {
		if f.Hides(d.Line + i) {
			return false
		}
	}
	if lines := f.Lines(); d.Above != "" && d.Line >= 2 && d.Line-2 < len(lines) {
		d.Above = lines[d.Line-2]
	}
	return true
}

// edit returns the lines that write what a finding suggests: its field, or the value of a chart that decides it.
func edit(file *review.Lines, f *report.Finding) *report.Diff {
	if f.Origin.Set == nil {
		return file.Diff(f.Origin, f.Field, f.Suggestion)
	}
	keys, text, ok := f.ChartValue()
	if !ok {
		return nil
	}
	below := jsonpointer.Join(keys[len(f.Origin.Set):]...)
	return file.Diff(f.Origin, "", &report.Suggestion{Field: below, YAML: text})
}

package checks

import (
	"github.com/lintel-bot/lintel/checks/patch"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree"
)

// suggestLines puts what the findings suggest into lines of their files, where these are known.
func suggestLines(head *tree.Tree, findings []report.Finding) {
	files := map[string]*patch.File{}
	for i := range findings {
		f := &findings[i]
		if f.Suggestion == nil || f.Origin == nil || f.Origin.Side != report.Head {
			continue
		}
		file, known := files[f.Origin.Path]
		if !known {
			if data, _, err := head.ReadFile(f.Origin.Path); err == nil {
				file = patch.Read(data)
			}
			files[f.Origin.Path] = file
		}
		f.Suggestion.Diff = file.Diff(f.Origin, f.Field, f.Suggestion)
	}
}

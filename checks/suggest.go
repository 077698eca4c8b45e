package checks

import (
	"github.com/lintel-bot/lintel/checks/parallel"
	"github.com/lintel-bot/lintel/checks/patch"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree"
)

// suggestLines puts what the findings suggest into lines of their files, where these are known.
func suggestLines(head *tree.Tree, findings []report.Finding) {
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
	parallel.Each(len(paths), func(i int) {
		data, _, err := head.ReadFile(paths[i])
		if err != nil {
			return
		}
		file := patch.Read(data)
		for _, f := range byPath[paths[i]] {
			f.Suggestion.Diff = file.Diff(f.Origin, f.Field, f.Suggestion)
		}
	})
}

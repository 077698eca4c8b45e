package roots

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
)

// chartFiles notes of each folder the files by which a chart takes the chart in that folder in, and the files of charts
// that print objects which deploy.
const chartFiles = "chart"

// printing is the key of the latter.
const printing = "\x00printing"

// printers are what Set.printers returns.
type printers struct {
	once  sync.Once
	files []string
}

func chartNotes(limits doc.Limits) graph.Notes {
	return graph.Notes{Of: chartFiles, Marks: append(deploymentMarks(), fileRepository), Read: func(p string, data []byte,
		note func(string)) {
		if slices.Contains(dependencyFiles, path.Base(p)) {
			noteDependencies(p, data, limits, note)
		} else if slices.Contains(strings.Split(path.Dir(p), "/"), "templates") {
			note(printing)
		}
	}}
}

// fileRepository is what the repository of a dependency begins with that lies beside the chart.
const fileRepository = "file://"

// dependencyFiles are the files of a chart that list what it depends on.
var dependencyFiles = []string{"Chart.yaml", "requirements.yaml"}

func noteDependencies(p string, data []byte, limits doc.Limits, note func(string)) {
	documents, err := doc.Parse(p, data, limits)
	if err != nil || len(documents) == 0 {
		return // the chart does not load
	}
	for _, d := range doc.Items(documents[0], "dependencies") {
		if beside, ok := strings.CutPrefix(doc.Text(doc.Deref(d), "repository"), fileRepository); ok {
			if dir, ok := tree.Clean(path.Join(path.Dir(p), beside)); ok {
				note(dir)
			}
		}
	}
}

// dependents returns some folders, and those of the charts that take in a chart in one of them, directly or not.
func (s *Set) dependents(folders []string) []string {
	seen := map[string]bool{}
	for queue := slices.Clone(folders); len(queue) > 0; queue = queue[1:] {
		if dir := queue[0]; !seen[dir] {
			seen[dir] = true
			for _, p := range s.Noted(chartFiles, dir) {
				queue = append(queue, path.Dir(p))
			}
		}
	}
	list := make([]string, 0, len(seen))
	for dir := range seen {
		list = append(list, dir)
	}
	slices.Sort(list)
	return list
}

// printers lists the files with objects that deploy a chart of the repository which prints such objects in turn: what
// these deploy only the chart says. A template may put the names together, so there may be more.
func (s *Set) printers() []string {
	s.printing.once.Do(func() { s.printing.files = s.findPrinters() })
	return s.printing.files
}

func (s *Set) findPrinters() []string {
	var folders []string
	for _, p := range s.Noted(chartFiles, printing) {
		for _, dir := range upwards(path.Dir(p)) {
			if s.hasChart(dir) {
				folders = append(folders, dir)
			}
		}
	}
	if len(folders) == 0 {
		return nil
	}
	return s.deployersOf(s.dependents(folders)...)
}

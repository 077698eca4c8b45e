package settings

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
)

// Chart says how a chart of the repository is deployed, if no object of Argo CD or Flux here deploys it. Several
// entries with one path are several releases.
type Chart struct {
	Path      string   `yaml:"path"`      // folder, or glob over folders of charts
	Values    []string `yaml:"values"`    // files over the chart's own values, as Argo CD's valueFiles
	Name      string   `yaml:"name"`      // of the release; default: the folder's
	Namespace string   `yaml:"namespace"` // that it is installed in
}

// ChartEntries converts the charts for roots.Options.
func (s *Settings) ChartEntries() (list []roots.ChartEntry) {
	for i, c := range s.Charts {
		list = append(list, roots.ChartEntry{Path: strings.Trim(c.Path, "/"), Values: c.Values, Name: c.Name,
			Namespace: c.Namespace, File: Path, Line: s.chartLine(i)})
	}
	return list
}

// chartLine is the line of an entry of charts.
func (s *Settings) chartLine(i int) int {
	if _, charts := doc.Field(s.written, "charts"); charts != nil && i < len(charts.Content) {
		return charts.Content[i].Line
	}
	return 0
}

// chartProblems returns what is wrong with the charts.
func (s *Settings) chartProblems() (problems []report.Problem) {
	seen := map[string]int{}
	for i, c := range s.Charts {
		line := s.chartLine(i)
		fail := func(format string, args ...any) {
			problems = append(problems, report.Problem{Path: Path, Line: line,
				Message: "charts: " + fmt.Sprintf(format, args...)})
		}
		id := fmt.Sprintf("%q", []any{strings.Trim(c.Path, "/"), c.Values, c.Name})
		switch problem := globProblem(c.Path); {
		case c.Path == "":
			fail("path is missing: name the folder of the chart")
		case problem != "":
			fail("%s", problem)
		case c.Name != "" && !matches("charts[].name", c.Name):
			fail("%q is not a name of a release: at most 53 lower case letters, digits, dashes and dots", c.Name)
		case seen[id] > 0:
			fail("line %[2]d has the same entry for %[1]q: give the release another name, or other values", c.Path, seen[id])
		}
		for _, v := range c.Values {
			if v == "" {
				fail("the name of a file of values is empty")
			}
		}
		seen[id] = line
	}
	return problems
}

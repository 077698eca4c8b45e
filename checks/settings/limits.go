package settings

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
)

// Limits limit the cost of a check; zero means the default. Time and memory of a whole check are limited by whoever
// runs it.
type Limits struct {
	FileBytes int64 `yaml:"fileBytes"` // of one file; default 16 MiB
	Files     int   `yaml:"files"`     // and folders of the repository; default 2,000,000
	Depth     int   `yaml:"depth"`     // nesting within a file; default 100
	Nodes     int   `yaml:"nodes"`     // of one file, aliases replaced; default 500,000
	Layers    int   `yaml:"layers"`    // kustomizations of one root, counted each time; default 2,000
	Bases     int   `yaml:"bases"`     // bases of bases; default 32
	Resources int   `yaml:"resources"` // of one root; default 20,000
}

// Sources restrict what may be fetched.
type Sources struct {
	Allow []string `yaml:"allow"` // patterns of addresses ("https://github.com/example/**"); nil: what the operator allows
}

// Render returns the limits of rendering.
func (l Limits) Render() render.Limits {
	return render.Limits{Source: doc.Limits{Nodes: l.Nodes, Depth: l.Depth}, Layers: l.Layers, Depth: l.Bases,
		Resources: l.Resources}
}

// limitProblems validates that each limit is a number in its range.
func limitProblems(settings *yaml.Node) []report.Problem {
	_, limits := doc.Field(settings, "limits")
	if limits == nil || limits.Kind != yaml.MappingNode {
		return nil // the decoder reports a value that is no map
	}
	var problems []report.Problem
	for i := 0; i+1 < len(limits.Content); i += 2 {
		key, value := limits.Content[i], doc.Deref(limits.Content[i+1])
		field, ok := fieldAt("limits." + key.Value)
		if !ok {
			continue // formProblems reports it
		}
		if n, err := strconv.ParseInt(value.Value, 10, 64); value.Kind != yaml.ScalarNode || value.ShortTag() != "!!int" ||
			err != nil || n < *field.Least || n > *field.Most {
			problems = append(problems, problemAt(value, field.Path,
				"must be a whole number from %d to %d; leave it out for the default", *field.Least, *field.Most))
		}
	}
	return problems
}

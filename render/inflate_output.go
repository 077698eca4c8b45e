package render

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/origin"
)

// printedChart is the output of a chart as one file, whose lines lead back to templates.
type printedChart struct {
	shown   *mount
	from    string // the folder or the address of the chart
	here    bool   // it is a folder of this repository
	output  *helm.Output
	text    []byte
	places  *chartPlaces // nil: places are not known
	starts  []int        // the first line of each manifest
	indexes []int        // the index of each manifest in Helm's output
}

// print sets the text to what `helm template` prints.
func (c *printedChart) print() {
	var out bytes.Buffer
	line := 1
	for _, hooks := range []bool{false, true} {
		for k, m := range c.output.Manifests {
			if m.Hook == hooks {
				text := fmt.Sprintf("---\n# Source: %s\n%s\n", m.Template, m.Text)
				c.starts, c.indexes = append(c.starts, line+2), append(c.indexes, k)
				line += strings.Count(text, "\n")
				out.WriteString(text)
			}
		}
	}
	c.text = out.Bytes()
}

// locate returns the place that a person must edit to change the field at a place of the text.
func (c *printedChart) locate(p origin.Place) origin.Place {
	if c.places != nil {
		if k, line := c.manifest(p.StartLine); k >= 0 {
			if found, ok := c.places.printed(k, line, p.StartColumn, p.Missing); ok {
				return found
			}
		}
	}
	out := c.shown.local().place(origin.Enclosing)
	out.Missing = p.Missing
	if at := c.template(p.StartLine); at != "" {
		out.Chain = []origin.Link{{Path: at, StartLine: 1, EndLine: 1, Role: "template"}}
	}
	return out
}

// manifest returns the number of the manifest that contains a line, and the line in it.
func (c *printedChart) manifest(line int) (index, in int) {
	k, found := slices.BinarySearch(c.starts, line)
	if !found {
		k--
	}
	if k < 0 {
		return -1, 0
	}
	return c.indexes[k], line - c.starts[k] + 1
}

// template returns the template that printed a line: its path in this repository, or its address (see origin.Link). It
// is empty where it is not known.
func (c *printedChart) template(line int) string {
	k, _ := c.manifest(line)
	if k < 0 {
		return ""
	}
	switch m := c.output.Manifests[k]; {
	case m.File == "":
		return c.from
	case c.here:
		return path.Join(c.from, m.File)
	case c.from != "":
		return c.from + "//" + m.File
	}
	return ""
}

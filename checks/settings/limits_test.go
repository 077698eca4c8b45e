package settings

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"all", "limits: {fileBytes: 1000, files: 10, depth: 20, nodes: 30, layers: 40, bases: 5, resources: 60}\n", ""},
		{"none", "limits:\n", ""},
		{"unknown", "limits:\n  layer: 5\n",
			`.lintel.yaml:2: limits: the field "layer" is not known: did you mean "layers"?`},
		{"letter case", "limits:\n  filebytes: 5\n",
			`.lintel.yaml:2: limits: the field "filebytes" is not known: did you mean "fileBytes"?`},
		{"no similar field", "limits: {timeout: 5m}\n", ".lintel.yaml:1: limits: the field \"timeout\" is not known: there are " +
			"bases, depth, fileBytes, files, layers, nodes, resources"},
		{"zero", "limits:\n  depth: 5\n  layers: 0\n",
			".lintel.yaml:3: limits.layers: must be a whole number from 1 to 100000"},
		{"negative", "limits: {nodes: -1}\n", ".lintel.yaml:1: limits.nodes: must be a whole number from 1 to 20000000"},
		{"above the maximum", "limits: {depth: 1001}\n", "limits.depth: must be a whole number from 1 to 1000"},
		{"beyond int64", "limits: {fileBytes: 99999999999999999999}\n",
			"limits.fileBytes: must be a whole number from 1 to 268435456"},
		{"fraction", "limits: {bases: 1.5}\n", "limits.bases: must be a whole number"},
		{"text", "limits: {resources: '5'}\n", "limits.resources: must be a whole number"},
		{"null", "limits: {files: null}\n", "limits.files: must be a whole number"},
		{"list", "limits: [depth]\n",
			".lintel.yaml:1: limits: must be a map with the fields fileBytes, "},
		{"two invalid limits", "limits: {depth: 0, nodes: 0}\n", "limits.nodes: must"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Default()
			var all []string
			for _, p := range parseSettings([]byte(c.data), s) {
				all = append(all, p.String())
			}
			if got := strings.Join(all, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.name == "all" {
				if l := s.Limits.Render(); l.Depth != 5 || l.Source.Depth != 20 || l.Source.Nodes != 30 || l.Layers != 40 ||
					l.Resources != 60 {
					t.Errorf("got %+v", l)
				}
			}
		})
	}
}

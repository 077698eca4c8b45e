package gitops

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

func TestChartEntry(t *testing.T) {
	const file, inline = "a: 1\nb: {c: 2, d: x}\nl: [1, 2]\nyes: yes\nz: null\nkept: 1\n",
		"a: 3\nb: {d: null, e: 4}\nl: [5]\nz: 6\n"
	const more = "a: 7\nmore: {x: y1}\n"
	for name, test := range map[string]struct{ merge, inline, want string }{
		"override": {"override", inline, "a=7 more.yaml:1\nb.c=2 values.yaml:2\nb.e=4 k.yaml:3\nkept=1 " +
			"values.yaml:6\nl.0=5 k.yaml:4\nmore.x=\"y1\" more.yaml:2\nyes=\"yes\" values.yaml:4\nz=6 k.yaml:5\n"},
		"by default": {"", "b: {c: 9}\n", "a=7 more.yaml:1\nb.c=9 k.yaml:2\nb.d=\"x\" values.yaml:2\nkept=1 " +
			"values.yaml:6\nl.0=1 values.yaml:3\nl.1=2 values.yaml:3\nmore.x=\"y1\" more.yaml:2\nyes=\"yes\" " +
			"values.yaml:4\nz=null values.yaml:5\n"},
		"merge": {"merge", inline, "a=7 more.yaml:1\nb.c=2 values.yaml:2\nb.d=\"x\" values.yaml:2\nb.e=4 k.yaml:3\nkept=1 " +
			"values.yaml:6\nl.0=1 values.yaml:3\nl.1=2 values.yaml:3\nmore.x=\"y1\" more.yaml:2\nyes=\"yes\" values.yaml:4\n"},
		"replace": {"replace", inline, "a=7 more.yaml:1\nb.d=null k.yaml:3\nb.e=4 k.yaml:3\nl.0=5 k.yaml:4\nmore.x=\"y1\" " +
			"more.yaml:2\nz=6 k.yaml:5\n"},
		"keys of YAML 1.1": {"replace", "y: 1\nn: {off: 2}\n'on': 3\n0x1F: 4\n1.0: 5\n", "1=5 k.yaml:6\n31=4 k.yaml:5\na=7 more.yaml:1\n" +
			"false.false=2 k.yaml:3\nmore.x=\"y1\" more.yaml:2\non=3 k.yaml:4\ntrue=1 k.yaml:2\n"},
		"no inline values": {"merge", "", "a=7 more.yaml:1\nb.c=2 values.yaml:2\nb.d=\"x\" values.yaml:2\nkept=1 values.yaml:6\nl.0=1 " +
			"values.yaml:3\nl.1=2 values.yaml:3\nmore.x=\"y1\" more.yaml:2\ntrue=true values.yaml:4\nz=null values.yaml:5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{"values.yaml": file, "more.yaml": more}
			here := Position{Path: "k.yaml", Line: 1}
			e := ChartEntry{File: FileLayer("values.yaml", here, remote.Want{}, "values.yaml"), Merge: test.merge,
				More: []Layer{FileLayer("more.yaml", here, remote.Want{}, "more.yaml")}}
			if test.inline != "" {
				documents, err := doc.Parse("k.yaml", []byte(test.inline), doc.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				e.Inline = NodeLayer("valuesInline", documents[0], func(n *yaml.Node) Position {
					return Position{Path: "k.yaml", Line: n.Line + 1}
				})
			}
			v, err := e.Release().Values(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, told(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

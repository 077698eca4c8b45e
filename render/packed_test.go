package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestPackedNodesAreTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"plain":   "a: {b: [1, 'two', !!str 3], c: {}, d: []}\ne: |\n  text\n",
		"aliases": "a: &x {b: 1}\nc: *x\n",
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		p := pack(&n)
		if whole := p.whole != nil; whole != (name == "aliases") {
			t.Errorf("%s: kept whole: %t", name, whole)
		}
		if diff := cmp.Diff(&n, p.unpack()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

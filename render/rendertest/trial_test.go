package rendertest

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// The proof has to detect a wrong place: a change there does not change the field.
func TestJudge(t *testing.T) {
	fields := func(a, b string) *rendered {
		return &rendered{kinds: []string{"Pod x y"}, fields: []map[string]string{{"/a": a, "/b": b}}}
	}
	before, e := fields("1", "2"), edit{mark: "z1q", text: "z1q"}
	for name, c := range map[string]struct {
		question question
		after    *rendered
		want     Outcome
	}{
		"it changed":            {value, fields("z1q", "2"), Confirmed},
		"another one changed":   {value, fields("1", "z1q"), Refuted},
		"does not build":        {value, nil, Undecided},
		"no field was added":    {missing, fields("1", "2"), Refuted},
		"the list stays":        {list, fields("1", "2"), Refuted},
		"not what it was":       {chain, fields("3", "2"), Refuted},
		"what it was":           {chain, fields("0", "2"), Confirmed},
		"it stays when removed": {removed, fields("1", "2"), Refuted},
	} {
		a := &attempt{Field: Field{Pointer: "/a"}, question: c.question, kind: yaml.ScalarNode, want: "0"}
		if got := a.judge(before, c.after, e); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

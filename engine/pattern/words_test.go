package pattern_test

import (
	"testing"

	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// What a leaf asks of a value that it does not take, in words.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		leaf any
		want string
	}{
		{"<=1Gi", "at most 1Gi"}, {">= 2", "at least 2"}, {">1", "more than 1"}, {"< 3", "less than 3"},
		{"!*:latest", "anything but *:latest"}, {"?*", "any value that is not empty"}, {"gold | silver", "gold, or silver"},
		{">1 & <5", "more than 1 and less than 5"}, {"1-5", "1-5"}, {"1!-5", "1!-5"}, {">", ">"},
		{nil, "nothing, or an empty value"}, {false, "false"}, {int64(3), "3"}, {1.5, "1.5"},
	} {
		p, err := pattern.Compile(map[string]any{"f": c.leaf})
		if err != nil {
			t.Fatal(err)
		}
		sheet := &explain.Sheet{}
		p.Explain(map[string]any{"f": map[string]any{"no": "scalar"}}, sheet)
		if hints := sheet.At("/f"); len(hints) != 1 || hints[0].Words != c.want {
			t.Errorf("%v: %+v, want %q", c.leaf, hints, c.want)
		}
	}
}

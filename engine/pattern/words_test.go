package pattern_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine/pattern"
)

func TestExpects(t *testing.T) {
	p, err := pattern.Compile(map[string]any{
		"limit": "<=1Gi", "floor": ">= 2", "above": ">1", "below": "< 3", "not": "!*:latest", "some": "?*",
		"any":    "*",
		"either": "gold | silver", "both": ">1 & <5", "range": "1-5", "outside": "1!-5", "sign": ">",
		"null": nil, "bool": false,
		"number": int64(3), "float": 1.5, "variable": "{{ x }}", "reference": "$(./../x)",
		"map":         map[string]any{"a": "b"},
		"=(equality)": "a", "(condition)": "b", "(twice)": "c", "twice": "d", "X(negation)": "e",
		"^(existence)": []any{map[string]any{"a": "b"}},
		"list":         []any{map[string]any{"=(image)": "!x"}},
		"lists":        []any{map[string]any{"a": "b"}, map[string]any{"a": "c"}},
		"args":         []any{"?*"}, "several": []any{"a", "b"}, "nested": []any{[]any{"x"}}, "none": []any{},
		"sl/ash": "s",
	})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"limit": "at most 1Gi", "floor": "at least 2", "above": "more than 1", "below": "less than 3",
		"not":  "anything but *:latest",
		"some": "any value that is not empty", "any": "any value", "either": "gold, or silver",
		"both":  "more than 1 and less than 5",
		"range": "1-5", "outside": "1!-5", "sign": ">", "null": "nothing, or an empty value", "bool": "false",
		"number": "3", "float": "1.5",
		"variable": "", "reference": "", "map": "", "map a": "b", "map a b": "", "absent": "",
		"equality": "a", "condition": "b", "twice": "d",
		"negation": "", "existence 0 a": "", "list": "", "list 7 image": "anything but x", "list x image": "",
		"lists 0 a": "",
		"args":      "", "args 3": "any value that is not empty", "several 0": "", "nested 0 1": "x", "none 0": "",
		"sl/ash": "s", "": "",
	} {
		if got := p.Expects(strings.Fields(field)...); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

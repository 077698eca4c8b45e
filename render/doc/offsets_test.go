package doc_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

func TestOffsets(t *testing.T) {
	const text = "a: ä\nßb:\n  - 'it''s' # c\n  - \"\\\"q\\\"\"\n"
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	offsets := doc.NewOffsets(text)
	top := document.Content[0]
	list := top.Content[3].Content
	for n, want := range map[*yaml.Node]string{top.Content[1]: "ä\n", top.Content[2]: "ßb:",
		list[0]: "'it''s'", list[1]: `"\"q\""`} {
		if at := offsets.Of(n); !strings.HasPrefix(text[at:], want) {
			t.Errorf("%q begins at %d, want %q", n.Value, at, want)
		}
	}
	for _, n := range []*yaml.Node{{Line: 0, Column: 1}, {Line: 9, Column: 1}, {Line: 5, Column: 9}} {
		if at := offsets.Of(n); at != len(text) {
			t.Errorf("line %d begins at %d", n.Line, at)
		}
	}
	for text, want := range map[string]int{"": 0, "'": 0, "'a": 0, "''": 2, "'a''b' c": 6, `"a\"b" c`: 6, `"a\`: 0} {
		if got := doc.QuotedLength(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

package output

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/view"
)

// Each row has all cells, with or without a place. Otherwise, the color of the row would end too early.
func TestRowsOfADifferenceAreWhole(t *testing.T) {
	text := string(diffTable([]DiffLine{
		{Sign: "@", Words: []view.WordSpan{{Text: "spec"}}},
		{Sign: " ", Words: []view.WordSpan{{Text: "a: 1"}}},
		{Sign: "-", Words: []view.WordSpan{{Text: "b: 1"}}, Where: Link{Text: "a.yaml:2", Address: "https://x.example/a.yaml#L2"}},
		{Sign: "+", Words: []view.WordSpan{{Text: "b: "}, {Text: "2", Differs: true}}, Where: Link{Text: ":2"}},
		{Sign: "+"},
	}))
	rows := strings.Split(text, "<tr")[1:]
	if len(rows) != 5 {
		t.Fatalf("%d rows in %s", len(rows), text)
	}
	for _, row := range rows {
		if n := strings.Count(row, "<td"); n != 3 {
			t.Errorf("%d cells in %s", n, row)
		}
	}
}

package rendered

import (
	"testing"

	"github.com/lintel-bot/lintel/render/origin"
)

// Each line of a string of several lines has its own place, if the source also has it on several lines.
func TestLinesOfTexts(t *testing.T) {
	place := func(from, to, column int, role string, how origin.How) origin.Place {
		return origin.Place{Path: "f", StartLine: from, EndLine: to, StartColumn: column, Role: role, How: how}
	}
	for name, tc := range map[string]struct {
		place origin.Place
		part  int
		want  int
	}{
		"no line of the string":              {place(4, 9, 0, "", origin.Identity), 0, 4},
		"the first line":                     {place(4, 9, 0, "", origin.Identity), 1, 5},
		"the last line":                      {place(4, 9, 0, "", origin.Identity), 5, 9},
		"a line after the last":              {place(4, 9, 0, "", origin.Identity), 50, 9},
		"written on one line":                {place(4, 4, 12, "", origin.Identity), 3, 4},
		"the file of a generator":            {place(1, 9, 0, "configMapGenerator", origin.Identity), 3, 3},
		"a literal of a generator":           {place(7, 7, 0, "configMapGenerator", origin.Identity), 3, 7},
		"the file of a secret":               {place(1, 2, 0, "secretGenerator", origin.Identity), 1, 1},
		"the place of an enclosing field":    {place(4, 9, 0, "", origin.Enclosing), 3, 4},
		"a string that begins within a line": {place(4, 9, 3, "", origin.Identity), 3, 4},
	} {
		if got := LineOf(tc.place, tc.part); got.StartLine != tc.want {
			t.Errorf("%s: line %d, want %d", name, got.StartLine, tc.want)
		}
	}
}

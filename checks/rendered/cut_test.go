package rendered

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/render"
)

// The difference of a long line is shown in whole characters, with the beginning of the line.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("日本 ", 30_000) + "."
	for name, tc := range map[string]struct{ was, now, shown string }{
		"at the beginning": {"old " + long, "new " + long, "key: new 日本"},
		"in the middle":    {long + "old" + long, long + "new" + long, " 日本 .new日本 "},
		"at the end":       {long + "old", long + "new", " 日本 .new"},
		"grown":            {long, long + "new", " 日本 .new"},
		"short before":     {"old", long + "new", "key: 日本 "},
	} {
		object := func(value string) []*render.Resource {
			return []*render.Resource{in(t, "a.yaml", configMap("a", "\""+value+"\""))}
		}
		lines, _ := told(t, Change{Pairs: of(root("r"), object(tc.was), object(tc.now))})
		if len(lines) != 3 {
			t.Fatalf("%s: %.200q", name, lines)
		}
		for _, l := range lines {
			if len(l) > maxLine+500 || !utf8.ValidString(l) {
				t.Errorf("%s: %d bytes: %.200q", name, len(l), l)
			}
		}
		if lines[1][1:] == lines[2][1:] || !strings.Contains(lines[2], tc.shown) || !strings.HasPrefix(lines[2], "+key: ") {
			t.Errorf("%s: %q is not in\n%.500s", name, tc.shown, lines[2])
		}
	}
}

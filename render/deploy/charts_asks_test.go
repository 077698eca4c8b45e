package deploy

import (
	"slices"
	"strings"
	"testing"
)

// Only look-ups in actions of templates count. The kind of a look-up may not be written.
func TestLookUpsOfCharts(t *testing.T) {
	for text, want := range map[string]struct {
		asks []string
		any  bool
	}{
		"a: keys are used to lookup values from labels":                               {},
		`a: {{ (lookup "v1" "Secret" .Release.Namespace "x").data }}`:                 {asks: []string{"Secret"}},
		`a: {{ "}}" }}{{- $x := lookup "v1" "Secret" "" "" -}} lookup`:                {asks: []string{"Secret"}},
		"a: {{ `}}\" ` | quote }} lookup {{ \"}}\" | lookup }}":                       {any: true},
		`{{ lookup .kind }} {{ mylookup "v1" "Secret" }}`:                             {any: true},
		`{{ if lookup "a" "B" "" "" }} it {{ end }}{{ lookup "a" "C" "" "" }} lookup`: {asks: []string{"B", "C"}},
		`{{ "` + strings.Repeat("x }} ", maxAction) + `lookup`:                        {any: true},
		"{{ lookup": {any: true},
		"":          {},
	} {
		var got chartText
		if got.read([]byte(text)); !slices.Equal(got.Asks, want.asks) || got.Any != want.any {
			t.Errorf("%.60q: got %+v", text, got)
		}
	}
}

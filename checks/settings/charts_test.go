package settings

import (
	"strings"
	"testing"
)

func TestCharts(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"several", "charts:\n- {path: a, values: [v.yaml]}\n- {path: a, values: [w.yaml]}\n" +
			"- {path: 'a/*', name: x.y-1}\n", ""},
		{"one path, several names", "charts:\n- {path: a, values: [v.yaml]}\n- {path: a, values: [v.yaml], name: b}\n", ""},
		{"no path", "charts:\n- {values: [v.yaml]}\n", ".lintel.yaml:2: charts: path is missing"},
		{"path outside the repository", "charts: [{path: ../a}]\n", `.lintel.yaml:1: charts: "../a" points outside the repository`},
		{"invalid name", "charts:\n- {path: a}\n- {path: b, name: A_b}\n", `.lintel.yaml:3: charts: "A_b" is not a name of a release`},
		{"same entry twice", "charts:\n- {path: a/}\n- {path: a, namespace: b}\n",
			`.lintel.yaml:3: charts: line 2 has the same entry for "a"`},
		{"unknown field", "charts:\n- {path: a, value: [x]}\n", `charts: the field "value" is not known: did you mean "values"?`},
		{"no list", "charts: {path: a}\n", ".lintel.yaml:1: charts: must be a list"},
		{"empty name of a file of values", "charts: [{path: a, values: ['']}]\n", ".lintel.yaml:1: charts: the name of a file of values is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []string
			for _, p := range parseSettings([]byte(c.data), Default()) {
				all = append(all, p.String())
			}
			if got := strings.Join(all, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

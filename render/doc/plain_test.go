package doc_test

import (
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
)

// Sound refuses what kubectl and Helm cannot write as JSON.
func TestSound(t *testing.T) {
	for _, text := range []string{"{{ x }}", "{[a]: b}", "{? [a], b: c}", "{null: a}", "{~: a}", "{<<: 5}", "{<<: [1]}", "!!int x",
		"!!null x", ".inf", "-.INF", ".nan", "[.inf]", "{a: &x {b: .nan}, c: *x}", "{{a: b}: c}",
		"plain", "{a: 1}", "{1: a}", "{1.5: a}", "{true: a, on: b}", "{.inf: 1}", "{'': a}", "{<<: {a: 1}, b: 2}", "{<<: [{a: 1}, {b: 2}]}", "!!null null",
		"!!null ~", "!!foo bar", "!!str 1", "!!float 1", "18446744073709551616", "1e999", "2001-01-01", "{2001-01-01: x}", "!!binary aGk=", "1:30",
		"{a: &x {b: 1}, c: *x, d: {<<: *x}}", "''", "null"} {
		document, err := doc.Parse("", []byte("a: "+text+"\n"), doc.Limits{})
		if err != nil || len(document) != 1 {
			t.Fatal(text, err)
		}
		_, want := sigsyaml.YAMLToJSON([]byte("a: " + text + "\n"))
		if got := doc.Sound(document[0]); (got == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

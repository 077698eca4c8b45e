package pattern

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// tree reads YAML into the JSON convention of the engine.
func tree(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func compile(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := Compile(tree(t, text))
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return p
}

// row is one pattern against one resource. Fields are separated by blanks; "-" is the root.
type row struct {
	pattern, resource string
	verdict           Verdict
	path, fields      string
}

// matches reports whether a value satisfies a pattern; what is not a pattern matches nothing.
func matches(value, pattern any) bool {
	p, err := Compile(pattern)
	return err == nil && p.Match(value).Verdict == Pass
}

package apiserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Only a list with two equal values in one of these fields is compared by its types.
func TestElementKeysHasAFieldOfEachKey(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "applyconfigurations", "internal", "internal.go"))
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`keys:\n((?: +- \w+\n)+)`).FindAllStringSubmatch(string(types), -1)
	if len(lists) < 50 {
		t.Fatalf("found %d lists with keys", len(lists))
	}
	for _, list := range lists {
		fields := strings.Fields(strings.ReplaceAll(list[1], "- ", ""))
		if !slices.ContainsFunc(fields, func(field string) bool { return slices.Contains(elementKeys, field) }) {
			t.Errorf("no field of the key %q is known", fields)
		}
	}
}

func TestMayDouble(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  bool
	}{
		"other names":           {[]any{map[string]any{"name": "a", "image": "x"}, map[string]any{"name": "b", "image": "x"}}, false},
		"a name twice":          {map[string]any{"of": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}}, true},
		"a name that is a list": {[]any{map[string]any{"name": []any{}}}, true},
		"inside an element":     {[]any{map[string]any{"env": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}}}, true},
		"texts":                 {[]any{"a", "b"}, false},
		"a text twice":          {[]any{"a", "b", "a"}, true},
		"a list of lists":       {[]any{[]any{}}, true},
	} {
		if got := mayDouble(tc.value); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

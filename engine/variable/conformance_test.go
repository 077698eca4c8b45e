package variable

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/jmespath"
)

// TestPublishedPoliciesCompile parses every rule of the published policies: their expressions are what
// users write, and all of them are accepted by a cluster.
func TestPublishedPoliciesCompile(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "conformance")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the conformance cases are not here")
	}
	parsed := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		for decoder := yaml.NewDecoder(file); ; {
			var doc map[string]any
			if decoder.Decode(&doc) != nil {
				return nil
			}
			kind, _ := doc["kind"].(string)
			spec, _ := doc["spec"].(map[string]any)
			rules, _ := spec["rules"].([]any)
			if kind != "ClusterPolicy" && kind != "Policy" {
				continue
			}
			for _, r := range rules {
				rule, _ := r.(map[string]any)
				for _, part := range []string{"context", "preconditions", "validate", "mutate"} {
					if rule[part] == nil {
						continue
					}
					parsed++
					if _, err := Parse(rule, "/"+part); err != nil {
						t.Errorf("%s: rule %v: %v", filepath.Base(filepath.Dir(path)), rule["name"], err)
					}
					for _, source := range bareExpressions(rule[part], nil) {
						if _, err := jmespath.Compile(source); err != nil {
							t.Errorf("%s: rule %v: %q: %v", filepath.Base(filepath.Dir(path)), rule["name"], source, err)
						}
					}
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if parsed < 500 {
		t.Errorf("parsed only %d parts of rules", parsed)
	}
}

// bareExpressions are the fields that hold an expression without braces.
func bareExpressions(v any, out []string) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = bareExpressions(item, out)
		}
	case map[string]any:
		for k, item := range v {
			if text, ok := item.(string); ok && (k == "jmesPath" || k == "list") && !strings.Contains(text, "{{") {
				out = append(out, text)
			}
			out = bareExpressions(item, out)
		}
	}
	return out
}

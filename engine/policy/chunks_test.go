package policy

import (
	"strings"
	"testing"
)

// Empty documents before the one with the policy must not hide it: the policy would be off without a word.
func TestEmptyDocuments(t *testing.T) {
	for _, before := range []string{
		"---\n", "---\n---\n", "# note\n---\n", "# note\n---\n---\n", "---\n--- # note\n", "# note\n---\n--- # note\n",
		"# note\n---\n\n# more\n---\n", "--- # note\n---\n", "%YAML 1.1\n---\n", "%YAML 1.1\n---\n---\n", "---\n# note\n...\n---\n",
	} {
		docs, problems := Documents(Source{Path: "x.yaml", Data: []byte(before + "kind: A\n---\nkind: B\n")})
		if len(docs) != 2 || docs[0].Kind != "A" || docs[1].Kind != "B" || len(problems) > 0 {
			t.Errorf("%q: %d documents, problems %v", before, len(docs), problems)
			continue
		}
		if want := 1 + strings.Count(before, "\n"); docs[0].Line != want || docs[1].Line != want+2 {
			t.Errorf("%q: lines %d and %d, want %d and %d", before, docs[0].Line, docs[1].Line, want, want+2)
		}
	}
}

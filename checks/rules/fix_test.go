package rules

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"

func fixed(t *testing.T, data string) Fixed {
	t.Helper()
	r := Fix(File{Path: "p.yaml", Data: []byte(data)})
	if again := Fix(File{Path: "p.yaml", Data: r.Data}); len(again.Edits) > 0 ||
		!bytes.Equal(again.Data, r.Data) {
		t.Errorf("a second fix makes %v", again.Edits)
	}
	return r
}

func TestFix(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"action",
			"  validationFailureAction: enforce\n  rules:\n  - name: r\n    validate:\n      deny: {}\n",
			"  rules:\n  - name: r\n    validate:\n      failureAction: Enforce\n      deny: {}\n"},
		{"only where a rule has none",
			"  rules:\n  - name: r\n    validate:\n      failureAction: Audit\n      deny: {}\n  - name: s\n    validate:\n" +
				"        deny: {}\n  validationFailureAction: 'Enforce'\n",
			"  rules:\n  - name: r\n    validate:\n      failureAction: Audit\n      deny: {}\n  - name: s\n    validate:\n" +
				"        failureAction: 'Enforce'\n        deny: {}\n"},
		{"overrides, whatever their indentation",
			"  validationFailureActionOverrides: # why\n  - action: ENFORCE # here\n    namespaces:\n    - a\n\n    - \"b\"\n" +
				"  rules:\n  - name: r\n    validate:\n      deny: {}\n",
			"  rules:\n  - name: r\n    validate:\n      failureActionOverrides:\n      - action: Enforce # here\n" +
				"        namespaces:\n        - a\n\n        - \"b\"\n      deny: {}\n"},
		{"overrides on one line",
			"  validationFailureActionOverrides: [{action: audit, namespaces: [a]}] # why\n  rules:\n" +
				"  - {name: r, validate: {deny: {}}}\n",
			"  # why\n  rules:\n  - {name: r, validate: {failureActionOverrides: [{action: Audit, namespaces: [a]}], deny: " +
				"{}}}\n"},
		{"comments go with the field to the first rule",
			"  # one\n  # two\n  validationFailureAction: Audit   # three\n\n  # four\n  rules:\n  - name: r\n" +
				"    validate: # five\n      # six\n      deny: {}\n  - name: s\n    validate:\n      deny: {}\n",
			"\n  # four\n  rules:\n  - name: r\n    validate: # five\n      # one\n      # two\n" +
				"      failureAction: Audit   # three\n      # six\n      deny: {}\n  - name: s\n    validate:\n" +
				"      failureAction: Audit\n      deny: {}\n"},
		{"no rule to go to",
			"  # one\n  validationFailureAction: Audit\n  rules:\n  - name: r\n    mutate: {patchStrategicMerge: {a: b}}\n",
			"  # one\n  rules:\n  - name: r\n    mutate: {patchStrategicMerge: {a: b}}\n"},
		{"image verification",
			"  validationFailureAction: Enforce\n  rules:\n  - name: r\n    verifyImages:\n    - imageReferences: ['*']\n" +
				"      required: true\n    -   failureAction: Audit\n        imageReferences: ['a']\n",
			"  rules:\n  - name: r\n    verifyImages:\n    - failureAction: Enforce\n      imageReferences: ['*']\n" +
				"      required: true\n    -   failureAction: Audit\n        imageReferences: ['a']\n"},
		{"names under validate",
			"  rules:\n  - name: r\n    validate:\n      \"validationFailureAction\": \"audit\" # x\n" +
				"      validationFailureActionOverrides:\n      - {action: enforce, namespaces: [a]}\n      deny: {}\n",
			"  rules:\n  - name: r\n    validate:\n      \"failureAction\": \"Audit\" # x\n      failureActionOverrides:\n" +
				"      - {action: Enforce, namespaces: [a]}\n      deny: {}\n"},
		{"an old name beside the present one",
			"  rules:\n  - name: r\n    validate: {validationFailureAction: Audit, failureAction: Enforce, deny: {}}\n",
			"  rules:\n  - name: r\n    validate: {failureAction: Enforce, deny: {}}\n"},
		{"letter case", "  rules:\n  - name: r\n    validate: {failureAction: enforce, deny: {}}\n",
			"  rules:\n  - name: r\n    validate: {failureAction: Enforce, deny: {}}\n"},
		{"existing objects",
			"  mutateExistingOnPolicyUpdate: true\n  generateExistingOnPolicyUpdate: true\n  rules:\n  - name: r\n" +
				"    mutate:\n" +
				"      targets: [{kind: Pod}]\n  - name: s\n    generate:\n      kind: ConfigMap\n  - name: t\n    mutate:\n" +
				"      patchStrategicMerge: {a: b}\n",
			"  rules:\n  - name: r\n    mutate:\n      mutateExistingOnPolicyUpdate: true\n      targets: [{kind: Pod}]\n" +
				"  - name: s\n    generate:\n      generateExisting: true\n      kind: ConfigMap\n  - name: t\n    mutate:\n" +
				"      patchStrategicMerge: {a: b}\n"},
		{"match and exclude",
			"  rules:\n  - name: r\n    match:\n      # all\n      resources: # these\n        kinds:\n        - Pod\n" +
				"        # and\n        names: ['a', \"b\"]\n      subjects:\n      - {kind: User, name: x}\n" +
				"    exclude: {resources: {namespaces: [a]}}\n    validate: {deny: {}}\n",
			"  rules:\n  - name: r\n    match:\n      # all\n      any:\n      - resources: # these\n          kinds:\n" +
				"          - Pod\n          # and\n          names: ['a', \"b\"]\n        subjects:\n" +
				"        - {kind: User, name: x}\n    exclude: {any: [{resources: {namespaces: [a]}}]}\n" +
				"    validate: {deny: {}}\n"},
		{"conditions with a literal",
			"  rules:\n  - name: r\n    preconditions:\n    - key: a\n      operator: In\n      value: [b]\n    - key: c\n" +
				"      operator: 'Equal'\n      value: |\n        some\n          text\n    validate:\n      deny:\n" +
				"        conditions: [{key: a, operator: NotIn, value: b}]\n",
			"  rules:\n  - name: r\n    preconditions:\n      all:\n      - key: a\n        operator: AllIn\n" +
				"        value: [b]\n      - key: c\n        operator: 'Equals'\n        value: |\n          some\n" +
				"            text\n    validate:\n      deny:\n" +
				"        conditions: {all: [{key: a, operator: AnyNotIn, value: b}]}\n"},
		{"conditions of an element",
			"  rules:\n  - name: r\n    validate:\n      foreach:\n      - list: a\n        preconditions:\n          any:\n" +
				"          - {key: a, operator: NotIn, value: [b]}\n        deny:\n          conditions:\n" +
				"            - {key: a, operator: In, value: [b]}\n",
			"  rules:\n  - name: r\n    validate:\n      foreach:\n      - list: a\n        preconditions:\n          any:\n" +
				"          - {key: a, operator: AnyNotIn, value: [b]}\n        deny:\n          conditions:\n            all:\n" +
				"            - {key: a, operator: AllIn, value: [b]}\n"},
		{"a rule that an alias repeats is edited once",
			"  validationFailureAction: Audit\n  rules:\n  - name: r\n    validate: &v\n      deny: {}\n  - name: s\n" +
				"    validate: *v\n",
			"  rules:\n  - name: r\n    validate: &v\n      failureAction: Audit\n      deny: {}\n  - name: s\n" +
				"    validate: *v\n"},
		{"a rule that merges another",
			"  validationFailureAction: Audit\n  rules:\n  - name: r\n    validate: &v\n      deny: {}\n  - name: s\n" +
				"    validate:\n      <<: *v\n      message: x\n",
			"  rules:\n  - name: r\n    validate: &v\n      failureAction: Audit\n      deny: {}\n  - name: s\n    validate:\n" +
				"      failureAction: Audit\n      <<: *v\n      message: x\n"},
		{"what is as it should be", "  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n" +
			"    validate: {failureAction: Audit, deny: {conditions: {all: [{key: a, operator: AnyIn, value: b}]}}}\n", "="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.after
			if want == "=" {
				want = tt.before
			}
			for _, newline := range []string{"\n", "\r\n"} {
				in := func(s string) string { return strings.ReplaceAll(head+s, "\n", newline) }
				r := fixed(t, in(tt.before))
				if len(r.Left) > 0 {
					t.Errorf("left: %v", r.Left)
				}
				if diff := cmp.Diff(in(want), string(r.Data)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			// The other documents of a file, and the positions in them, stay the same.
			r := fixed(t, "# first\n---\na: {b}\n---\n"+head+tt.before+"---\n"+head+tt.before)
			if want := "# first\n---\na: {b}\n---\n" + head + want + "---\n" + head + want; string(r.Data) != want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, string(r.Data)))
			}
		})
	}
}

func TestFixJSON(t *testing.T) {
	r := fixed(t, `{
  "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"},
  "spec": {
    "rules": [{
      "name": "r",
      "match": {"resources": {"kinds": ["Pod"]}},
      "validate": {
        "message": "é, ünicode: {a}", "deny": {}
      }
    }],
    "validationFailureAction": "enforce"
  }
}
`)
	want := `{
  "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"},
  "spec": {
    "rules": [{
      "name": "r",
      "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
      "validate": {
        "failureAction": "Enforce",
        "message": "é, ünicode: {a}", "deny": {}
      }
    }]
  }
}
`
	if diff := cmp.Diff(want, string(r.Data)); diff != "" || len(r.Left) > 0 {
		t.Errorf("%v\n%s", r.Left, diff)
	}
}

// A field that cannot be fixed safely stays, and is listed with its place.
func TestFixLeaves(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"an anchor that another field uses", "  validationFailureAction: &a Enforce\n  rules:\n  - name: r\n    validate:\n" +
			"      failureAction: *a\n      deny: {}\n", "p.yaml:5:3: "},
		{"overrides beside other overrides", "  validationFailureAction: Enforce\n" +
			"  validationFailureActionOverrides: [{action: Audit, namespaces: [a]}]\n  rules:\n  - name: r\n    validate:\n" +
			"      failureActionOverrides: [{action: Audit, namespaces: [b]}]\n      deny: {}\n", "p.yaml:5:3: "},
		{"a block list into a map in braces", "  validationFailureActionOverrides:\n  - action: Audit\n    namespaces: [a]\n  rules:\n" +
			"  - name: r\n    validate: {deny: {}}\n", "p.yaml:5:3: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := fixed(t, head+tt.data)
			if string(r.Data) != head+tt.data || len(r.Edits) > 0 || len(r.Left) == 0 || !strings.HasPrefix(r.Left[0].String(),
				tt.want) {
				t.Errorf("edits %v, left %v\n%s", r.Edits, r.Left, r.Data)
			}
		})
	}
}

func TestFixException(t *testing.T) {
	r := fixed(t, "apiVersion: \"kyverno.io/v2alpha1\" # old\nkind: PolicyException\nmetadata: {name: e}\n"+
		"spec: {conditions: {any: [{key: a, operator: In, value: [b]}]}}\n")
	if want := "apiVersion: \"kyverno.io/v2\" # old\nkind: PolicyException\nmetadata: {name: e}\n" +
		"spec: {conditions: {any: [{key: a, operator: AllIn, value: [b]}]}}\n"; string(r.Data) != want {
		t.Errorf("got %s", r.Data)
	}
}

// Every file of the public library can be fixed, with nothing left, and a second fix changes nothing.
func TestFixLibrary(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "conformance")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the conformance cases are not here")
	}
	changed := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("kyverno.io")) {
			return err
		}
		r := fixed(t, string(data))
		if len(r.Left) > 0 {
			t.Errorf("%s: %v", path, r.Left)
		}
		if len(r.Edits) > 0 {
			changed++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if changed < 200 {
		t.Errorf("only %d files were changed", changed)
	}
}

func FuzzFix(f *testing.F) {
	f.Add([]byte(head + "  validationFailureAction: enforce\n  rules:\n  - name: r\n" +
		"    match: {resources: {kinds: [Pod]}}\n    validate:\n      deny: {}\n"))
	f.Add([]byte(head + "  validationFailureAction: &a |\n    Audit\n" +
		"  rules: [{validate: *a}, {preconditions: [{operator: In}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		r := Fix(File{Path: "p.yaml", Data: data})
		if len(r.Edits) == 0 && !bytes.Equal(r.Data, data) {
			t.Errorf("changed without an edit: %q", r.Data)
		}
		if again := Fix(File{Path: "p.yaml", Data: r.Data}); len(again.Edits) > 0 {
			t.Errorf("%q: again %v", r.Data, again.Edits)
		}
	})
}

package settings

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// published is the path of the committed schema.
const published = "../../deploy/lintel.schema.json"

// The committed schema is the one that Schema returns.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("deploy/lintel.schema.json is not what Schema returns: go run ./cmd/lintel schema > deploy/lintel.schema.json")
	}
}

// Each field of the type is documented once, and no other field is.
func TestEachFieldIsDocumentedOnce(t *testing.T) {
	told, seen := map[string]bool{}, map[string]bool{"clusters.*": true}
	for _, f := range Fields() {
		if told[f.Path] {
			t.Errorf("Fields has %q twice", f.Path)
		}
		told[f.Path] = true
		if !strings.HasSuffix(f.Text, ".") {
			t.Errorf("the text of %q is no sentence: %q", f.Path, f.Text)
		}
	}
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		switch of.Kind() {
		case reflect.Pointer:
			walk(of.Elem(), path)
		case reflect.Slice:
			walk(of.Elem(), path+"[]")
		case reflect.Map:
			walk(of.Elem(), path+".*")
		case reflect.Struct:
			for name, field := range fieldTypes(of) {
				p := strings.TrimPrefix(path+"."+name, ".")
				if f, ok := fieldAt(p); (!ok || !told[f.Path]) && field != reflect.TypeFor[Level]() { // a Level describes itself
					t.Errorf("Fields says nothing of %q", p)
				}
				seen[p] = true
				walk(field, p)
			}
		}
	}
	walk(reflect.TypeFor[Settings](), "")
	for p := range told {
		if !seen[p] {
			t.Errorf("Fields has %q, which is no field", p)
		}
	}
}

func validator(t *testing.T) func(text string) error {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
}

// The schema accepts what Read accepts: the examples of checks/README.md, and the settings of all test scripts.
func TestSchemaTakesWhatIsRead(t *testing.T) {
	validate := validator(t)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(examples) == 0 {
		t.Fatal("checks/README.md has no example of settings")
	}
	for _, m := range examples {
		if problems := parseSettings([]byte(m[1]), Default()); len(problems) > 0 {
			t.Errorf("checks/README.md: %v", problems)
		}
		if err := validate(m[1]); err != nil {
			t.Errorf("checks/README.md: %v", err)
		}
	}
	scripts, _ := filepath.Glob("../../cmd/lintel/testdata/*/*.txtar")
	n := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if filepath.Base(f.Name) != Path || len(parseSettings(f.Data, Default())) > 0 || len(bytes.TrimSpace(f.Data)) == 0 {
				continue
			}
			if n++; validate(string(f.Data)) != nil {
				t.Errorf("%s, %s: %v", script, f.Name, validate(string(f.Data)))
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d files of settings in the scripts", n)
	}
}

// Both the schema and Read reject settings with a wrong form.
func TestSchemaRefuses(t *testing.T) {
	validate := validator(t)
	for _, text := range []string{
		"polices: [a]", "policies: [{ref: main}]", "policies: [{repo: a/b}]", "policies: ['']", "policies: [{}]", "policies: a", "policies: {a: b}", "roots: [a]", "roots: {includes: [a]}", "mode: advise", "block: none",
		"block: {existing: 1}", "block: {exsting: true}", "block: [new]", "unrendered: error", "approvers: {count: -1}",
		"approvers: {count: two}", "approvers: {teams: [ops]}", "approvers: {codeowners: yes please}", "limits: {depth: 0}",
		"limits: {depth: 1001}", "limits: {deep: 1}", "annotations: {max: 1001}", "annotations: {max: -1}",
		"annotations: {max: 1.5}", "clusters: [a]", "clusters: {a: {}}", "clusters: {a: {roots: []}}",
		"clusters: {a: {roots: [b], kubernetes: latest}}", "clusters: {a: {roots: [b], version: 1}}", "charts: [{name: a}]",
		"charts: [{path: a, name: A_B}]", "charts: {path: a}", "identities: {users: {a: {name: b}}}",
		"identities: {users: {a: b}}", "sources: {deny: [a]}", "checks: {frobnicate: off}", "checks: [schema]", "[]", "text",
	} {
		if validate(text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if len(parseSettings([]byte(text), Default())) == 0 {
			t.Errorf("Read takes %s", text)
		}
	}
}

// Every field has a description of what it accepts.
func TestFormatOf(t *testing.T) {
	for _, f := range Fields() {
		if FormatOf(f.Path) == "" {
			t.Errorf("nothing is said of %q", f.Path)
		}
	}
	for path, want := range map[string]string{"block": "map, or new, all", "block.audit": "true or false",
		"clusters.*.roots": "list", "charts[].path": "text", "mode": "enforce, advisory", "nothing": "", "roots.nothing": ""} {
		if got := FormatOf(path); got != want {
			t.Errorf("FormatOf(%q) = %q, want %q", path, got, want)
		}
	}
}

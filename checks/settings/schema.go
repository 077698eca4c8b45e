package settings

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
)

// SchemaURL is the schema of the newest release, which settings files name for editors.
const SchemaURL = "https://github.com/lintel-bot/lintel/releases/latest/download/lintel.schema.json"

// draft is the version of JSON Schema that most editors support (https://json-schema.org/draft-07/schema).
const draft = "http://json-schema.org/draft-07/schema#"

// SchemaNode is a JSON Schema, or a part of one.
type SchemaNode map[string]any

// Shaped is a type whose YAML differs from its Go type, since it has its own UnmarshalYAML. Shape returns the schema of
// its YAML, given that of its Go type, which it may change. It is called on the zero value.
type Shaped interface {
	Shape(plain SchemaNode) SchemaNode
}

// worded is a string type with a fixed set of values. It is called on the zero value.
type worded interface{ words() []string }

func (Mode) words() []string           { return texts(ModeEnforce, ModeAdvisory) }
func (LoadRestrictor) words() []string { return texts(LoadRestrictionsRootOnly, LoadRestrictionsNone) }
func (Level) words() []string          { return texts(LevelOff, LevelWarn, LevelEnforce) }
func (Unrendered) words() []string     { return texts(UnrenderedNeutral, UnrenderedFailure) }
func (Suggestions) words() []string    { return texts(SuggestionsOff, SuggestionsReview) }

func texts[T ~string](list ...T) []string {
	return report.Mapped(list, func(t T) string { return string(t) })
}

// wordsOf returns the allowed words of a type; nil for other types.
func wordsOf(t reflect.Type) []string {
	if w, ok := reflect.Zero(t).Interface().(worded); ok {
		return w.words()
	}
	return nil
}

// Schema returns the JSON Schema of the settings, as JSON with a final line break. It is made of the type Settings and
// the texts of Fields. Only Read validates what a schema cannot express: globs, addresses, and conditions on other
// fields.
func Schema() ([]byte, error) {
	s := schemaOf(reflect.TypeFor[Settings](), "")
	s["$schema"], s["$id"] = draft, SchemaURL
	s["title"], s["description"] = "Settings of Lintel", "How Lintel checks this repository. Every field has a default."
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

// schemaOf returns the schema of the value at a path of fields: "clusters.*.roots".
func schemaOf(t reflect.Type, path string) SchemaNode {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var s SchemaNode
	switch t.Kind() {
	case reflect.Struct:
		properties := SchemaNode{}
		for name, of := range fieldTypes(t) {
			properties[name] = schemaOf(of, strings.TrimPrefix(path+"."+name, "."))
		}
		s = SchemaNode{"type": "object", "properties": properties, "additionalProperties": false}
	case reflect.Map:
		s = SchemaNode{"type": "object", "additionalProperties": schemaOf(t.Elem(), path+".*")}
	case reflect.Slice:
		s = SchemaNode{"type": "array", "items": schemaOf(t.Elem(), path+"[]")}
	case reflect.Bool:
		s = SchemaNode{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		s = SchemaNode{"type": "integer"}
	case reflect.String:
		s = SchemaNode{"type": "string"}
		if words := wordsOf(t); words != nil {
			s["enum"] = words
		}
	default:
		panic(fmt.Sprintf("settings: no schema for %s at %s", t, path)) // a test calls it for all types
	}
	if shaped, ok := reflect.Zero(t).Interface().(Shaped); ok {
		s = shaped.Shape(s)
	}
	if f, ok := fieldAt(path); ok {
		f.describe(s)
	}
	return s
}

// fieldAt returns the documentation of a field. A cluster's field without documentation has that of the top level's
// field.
func fieldAt(path string) (Field, bool) {
	for _, p := range []string{path, strings.TrimPrefix(path, "clusters.*.")} {
		if i := slices.IndexFunc(Fields(), func(f Field) bool { return f.Path == p }); i >= 0 {
			return Fields()[i], true
		}
	}
	return Field{}, false
}

// fieldTypes are the types of the fields of a struct by their names in YAML.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
			known[name] = t.Field(i).Type
		}
	}
	return known
}

// describe adds the documentation of a field to its schema.
func (f Field) describe(s SchemaNode) {
	s["description"] = f.Text
	if f.Default != nil {
		s["default"] = f.Default
	}
	if f.Least != nil {
		s["minimum"] = *f.Least
	}
	if f.Most != nil {
		s["maximum"] = *f.Most
	}
	each := s
	if items, ok := s["items"].(SchemaNode); ok {
		each = items
	}
	if f.Pattern != "" {
		each["pattern"] = f.Pattern
	}
	if len(f.Needs) > 0 {
		each["required"] = f.Needs
	}
	if f.NotEmpty {
		s["minItems"] = 1
	}
}

// Shape implements Shaped. Fields may describe a single check further.
func (Level) Shape(s SchemaNode) SchemaNode {
	s["description"], s["default"] = "The level of the check.", LevelWarn
	return s
}

// Shape implements Shaped: a map, or the path of a file, a folder or a glob in the repository.
func (PolicyEntry) Shape(plain SchemaNode) SchemaNode {
	plain["minProperties"], plain["dependencies"] = 1, SchemaNode{"ref": []string{"repository"}}
	return SchemaNode{"anyOf": []SchemaNode{plain, {"type": "string", "minLength": 1}}}
}

// Shape implements Shaped: a map, or a short form.
func (Block) Shape(plain SchemaNode) SchemaNode {
	return SchemaNode{"anyOf": []SchemaNode{plain, {"type": "string", "enum": []string{blockNew, blockAll}}}}
}

// Field is the documentation of a field of the settings.
type Field struct {
	Path    string // "clusters.*.roots": the names of the fields, * for any name, [] for an entry of a list
	Text    string // description
	Default any    // as JSON; nil: Text contains it

	Least, Most *int64   // of a number
	Pattern     string   // that a text, or each entry of a list, matches
	Needs       []string // required fields
	NotEmpty    bool     `yaml:"notEmpty"` // the list needs an entry
}

//go:embed fields.yaml
var fieldsFile []byte

// Fields are all fields of the settings, in the order of the documentation. Callers must not change them.
var Fields = sync.OnceValue(func() (list []Field) {
	if err := yaml.Unmarshal(fieldsFile, &list); err != nil {
		panic(err) // fieldsFile is embedded, and a test reads it
	}
	return list
})

// matches reports whether a text matches the pattern of a field.
func matches(field, text string) bool {
	f, _ := fieldAt(field)
	return regexp.MustCompile(f.Pattern).MatchString(text)
}

// FormatOf describes in a few words what a field of Fields accepts; empty for an unknown field.
func FormatOf(path string) string {
	at := schemaOf(reflect.TypeFor[Settings](), "")
	for key := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		if several, ok := at["anyOf"].([]SchemaNode); ok {
			at = several[0]
		}
		switch {
		case key == "*":
			at, _ = at["additionalProperties"].(SchemaNode)
		case key == "[]":
			at, _ = at["items"].(SchemaNode)
		default:
			properties, _ := at["properties"].(SchemaNode)
			at, _ = properties[key].(SchemaNode)
		}
	}
	return wordsFor(at)
}

// wordsFor describes what a schema accepts.
func wordsFor(s SchemaNode) string {
	if several, ok := s["anyOf"].([]SchemaNode); ok {
		return strings.Join(report.Mapped(several, wordsFor), ", or ")
	}
	if words, ok := s["enum"].([]string); ok {
		return strings.Join(words, ", ")
	}
	return map[any]string{"object": "map", "array": "list", "boolean": "true or false", "integer": "number",
		"string": "text"}[s["type"]]
}

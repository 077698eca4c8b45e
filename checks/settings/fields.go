package settings

import (
	_ "embed"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

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
		var list []string
		for _, one := range several {
			list = append(list, wordsFor(one))
		}
		return strings.Join(list, ", or ")
	}
	if words, ok := s["enum"].([]string); ok {
		return strings.Join(words, ", ")
	}
	switch s["type"] {
	case "object":
		return "map"
	case "array":
		return "list"
	case "boolean":
		return "true or false"
	case "integer":
		return "number"
	case "string":
		return "text"
	}
	return ""
}

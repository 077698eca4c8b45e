package settings

import (
	_ "embed"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Field is what people are told about a field of the settings.
type Field struct {
	Path    string // "clusters.*.roots": the names of the fields, * for any name, [] for an entry of a list
	Text    string // what it is for
	Default any    // as JSON; nil: Text says it

	Least, Most *int64   // of a number
	Pattern     string   // that a text, or each entry of a list, matches
	Needs       []string // fields that may not be missing
	NotEmpty    bool     `yaml:"notEmpty"` // the list needs an entry
}

//go:embed fields.yaml
var fieldsFile []byte

// Fields are all fields of the settings, in the order in which people read about them. They are not to be changed.
var Fields = sync.OnceValue(func() (list []Field) {
	if err := yaml.Unmarshal(fieldsFile, &list); err != nil {
		panic(err) // a test reads it
	}
	return list
})

// matches reports whether a text has the pattern of a field.
func matches(field, text string) bool {
	f, _ := fieldAt(field)
	return regexp.MustCompile(f.Pattern).MatchString(text)
}

// FormatOf says in a word or a few what may be written in a field of Fields; it is empty for what is no field.
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

// wordsFor says what a schema takes.
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

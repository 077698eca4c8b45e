package apiserver

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Refused ends the message of a rejected object, Fixed that of a rejected change.
const (
	Refused = "the API server refuses the object"
	Fixed   = "the API server refuses this change of the existing object"
)

// most limits the length in bytes of a message of the API server about a field.
const most = 400

// violations converts errors of the API server to violations of the fields that they are about, in order. It drops
// errors about its own code.
func violations(object map[string]any, list field.ErrorList, effect string) (out []schema.Violation) {
	said := map[string]int{}
	for _, e := range list {
		if e.Type == field.ErrorTypeInternal {
			continue
		}
		at, words := at(object, e), body(e)
		i, told := said[at]
		switch {
		case !told:
			said[at] = len(out)
			out = append(out, schema.Violation{Pointer: at, Message: words, Missing: e.Type == field.ErrorTypeRequired})
		case !strings.Contains(out[i].Message, words):
			out[i].Message += "; " + words
		}
	}
	for i := range out {
		out[i].Message = schema.ClipTo(most, out[i].Message) + ": " + effect
	}
	return slices.Clip(out)
}

// at returns the field of an error, or the one that people write instead: the first address of a Service, and the
// versions of a definition instead of its stored versions.
func at(object map[string]any, e *field.Error) string {
	e.Field, _, _ = strings.Cut(e.Field, ".{") // several fields of one value: {topologyKey, whenUnsatisfiable}
	_, many := jsonpointer.Lookup(object, "/spec/clusterIPs")
	switch kind := object["kind"]; {
	case kind == "Service" && !many && strings.HasPrefix(e.Field, "spec.clusterIPs"):
		return "/spec/clusterIP"
	case kind == "CustomResourceDefinition" && strings.HasPrefix(e.Field, "status.storedVersions"):
		return "/spec/versions"
	case kind == "CustomResourceDefinition" && e.Field == "spec.version":
		return schema.PointerTo(object, "spec.versions[0].name")
	case kind == "CustomResourceDefinition":
		// Kubernetes stores the fields that all versions share outside of the versions.
		if rest, ok := strings.CutPrefix(e.Field, "spec.validation"); ok {
			return schema.PointerTo(object, "spec.versions[0].schema"+rest)
		}
		for _, common := range []string{"subresources", "additionalPrinterColumns", "selectableFields"} {
			if strings.HasPrefix(e.Field, "spec."+common) {
				return schema.PointerTo(object, strings.Replace(e.Field, "spec.", "spec.versions[0].", 1))
			}
		}
	}
	return entry(object, schema.PointerTo(object, e.Field), e.BadValue)
}

// entry returns the entry of a map that an error about the map is about, as labels are: the one with the wrong key or value. It
// returns the pointer of the map where no entry, or several, have that value.
func entry(object map[string]any, pointer string, wrong any) string {
	in, _ := jsonpointer.Lookup(object, pointer)
	m, _ := in.(map[string]any)
	text, ok := wrong.(string)
	ok = ok && text != ""
	if _, isKey := m[text]; ok && isKey {
		return pointer + "/" + jsonpointer.Escape(text)
	}
	var found []string
	for key, value := range m {
		if ok && value == text {
			found = append(found, key)
		}
	}
	if len(found) != 1 {
		return pointer
	}
	return pointer + "/" + jsonpointer.Escape(found[0])
}

// body is what the API server says, in one line: what it adds to that is a difference of its own fields, with their values.
// A value that has parts stands where the finding does.
func body(e *field.Error) string {
	v := reflect.ValueOf(e.BadValue)
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Struct, reflect.Array:
		e.BadValue = field.OmitValueType{}
	}
	line, _, _ := strings.Cut(e.ErrorBody(), "\n")
	return line
}

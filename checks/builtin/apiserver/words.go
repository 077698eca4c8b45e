package apiserver

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
)

// Refused ends the message of a refusal.
const Refused = "the API server refuses the object"

// most is how many bytes of what the API server says of a field are told.
const most = 400

// violations are the errors of the API server by the fields that they are about, in its order. An error about its own
// code is none about the object.
func violations(object map[string]any, list field.ErrorList) (out []schema.Violation) {
	said := map[string]int{}
	for _, e := range list {
		if e.Type == field.ErrorTypeInternal {
			continue
		}
		at, words := schema.PointerTo(object, e.Field), body(e)
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
		out[i].Message = schema.ClipTo(most, out[i].Message) + ": " + Refused
	}
	return slices.Clip(out)
}

// body is what the API server says. A value that has parts stands where the finding does.
func body(e *field.Error) string {
	v := reflect.ValueOf(e.BadValue)
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Struct, reflect.Array:
		e.BadValue = field.OmitValueType{}
	}
	return e.ErrorBody()
}

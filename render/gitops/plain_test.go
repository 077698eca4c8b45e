package gitops

import (
	"reflect"
	"testing"
)

// Evaluations are cached on disk, so nothing in them may be lost when they are encoded: every field must be exported and
// no closure or interface, except the value of a scalar.
func TestEvaluationsArePlainData(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(at string, of reflect.Type)
	walk = func(at string, of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Struct:
			for f := range of.Fields() {
				if !f.IsExported() && !f.Anonymous && f.Name != "_" {
					t.Errorf("%s.%s is not exported", at, f.Name)
				}
				if name, hidden := f.Tag.Lookup("json"); hidden && name == "-" && f.Tag.Get("cbor") == "" {
					t.Errorf("%s.%s is left out", at, f.Name)
				}
				walk(at+"."+f.Name, f.Type)
			}
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(at, of.Elem())
		case reflect.Func, reflect.Chan, reflect.UnsafePointer:
			t.Errorf("%s is a %s", at, of.Kind())
		case reflect.Interface:
			if at != "Evaluation.Deployments.Overrides.Edits.Value.Scalar" {
				t.Errorf("%s is an interface", at)
			}
		}
	}
	walk("Evaluation", reflect.TypeFor[Evaluation]())
}

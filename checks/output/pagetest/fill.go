package pagetest

import (
	"reflect"
	"time"
)

// maxDepth ends the filling of types that hold themselves.
const maxDepth = 12

// Fill puts a text wherever a value holds none: in each empty string that v, a pointer, leads to, in one element of each
// empty list and map, and in what nil pointers could lead to. Numbers that are zero are one, times are some time;
// booleans and what is not empty stay. So a field that somebody adds holds it, too.
func Fill(v any, text string) { fill(reflect.ValueOf(v), text, maxDepth) }

func fill(v reflect.Value, text string, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			if !v.CanSet() {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), text, depth-1)
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			if at.IsZero() {
				*at = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text, depth-1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // no text, but bytes of a form of their own
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), text, depth-1)
		}
	case reflect.Map:
		if v.Len() > 0 {
			return
		}
		key, value := reflect.New(v.Type().Key()), reflect.New(v.Type().Elem())
		fill(key, text, depth-1)
		fill(value, text, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key.Elem(), value.Elem())
	case reflect.String:
		if v.Len() == 0 {
			v.SetString(text)
		}
	case reflect.Int, reflect.Int64, reflect.Int32:
		if v.IsZero() {
			v.SetInt(1)
		}
	}
}

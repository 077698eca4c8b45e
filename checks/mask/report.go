package mask

import (
	"reflect"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// names are the fields of what is reported that name something, or count it, and are shown whatever Secrets hold. All
// other texts are looked through, also those that are added one day.
var names = map[string]bool{
	"Title": true, "Policy": true, "Rule": true, "Severity": true, "PolicyPath": true, "Name": true, "Kind": true,
	"APIVersion": true, "Namespace": true, "Root": true, "Roots": true, "RootsIn": true, "RootsOut": true,
	"Clusters": true, "Folders": true, "Field": true, "Fields": true, "Path": true, "Blob": true, "Commit": true,
	"Revision": true, "Ref": true, "Teams": true, "Users": true, "User": true, "Who": true, "By": true, "Exception": true,
	"Settings": true, "Container": true, "Files": true, "File": true, "Missing": true, "Set": true, "Role": true,
	"How": true, "Category": true, "Rules": true,
}

// Report hides values in a report. What is suggested in place of a value, and exceptions that would have to name one,
// are left out.
func Report(rep *report.Report, v *Values) {
	for i := range rep.Findings {
		suggestion(&rep.Findings[i])
	}
	drafts := make([]string, len(rep.Drafts))
	for i, d := range rep.Drafts {
		drafts[i] = d.YAML
	}
	Texts(rep, v)
	for i := range rep.Drafts {
		if d := &rep.Drafts[i]; d.YAML != drafts[i] {
			d.YAML = ""
			d.Why = "it would have to name a value of a Secret"
		}
	}
}

// suggestion hides what a finding says of the value of a Secret.
func suggestion(f *report.Finding) {
	s := f.Suggestion
	if s == nil || f.Resource.Kind != kind || !InData(s.Field) {
		return
	}
	s.Diff = nil
	if s.Was == "" {
		return
	}
	s.Was = report.Hidden
	if !s.Remove {
		f.Suggestion = nil // what to write may be made of what is there
	}
}

// InData reports whether a field of a Secret, as an RFC 6901 pointer, is one of its values or holds them.
func InData(field string) bool {
	for _, name := range dataFields {
		if field == "/"+name || strings.HasPrefix(field, "/"+name+"/") {
			return true
		}
	}
	return false
}

// Texts hides values in all texts of a structure, which is given by its address. Where a part of it is about a
// resource, texts are looked through for what this one holds, too.
func Texts(of any, v *Values) {
	if v == nil || v.known == nil {
		return
	}
	w := walker{values: v, names: map[string]bool{}}
	w.learn(reflect.ValueOf(of), false)
	v.visible = w.names
	w.walk(reflect.ValueOf(of), nil)
}

// walker goes through a structure.
type walker struct {
	values *Values
	names  map[string]bool // what is named
}

// learn collects what the structure names: that a Secret holds the same is not seen.
func (w *walker) learn(v reflect.Value, named bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.learn(v.Elem(), named)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				w.learn(v.Field(i), names[f.Name])
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.learn(v.Index(i), named)
		}
	case reflect.String:
		if named {
			for part := range strings.SplitSeq(v.String(), "/") {
				w.names[part] = true
			}
			w.names[v.String()] = true
		}
	}
}

// walk hides what the texts of a value hold of secrets. about are the resources that they are about.
func (w *walker) walk(v reflect.Value, about []report.Resource) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(v.Elem(), about)
		}
	case reflect.Struct:
		if more := aboutOf(v); more != nil {
			about = more
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !names[f.Name] {
				w.walk(v.Field(i), about)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i), about)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(key))
			w.walk(one, about)
			v.SetMapIndex(key, one)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() { // others are words of ours
			if text := w.values.Hide(v.String(), about...); text != v.String() {
				v.SetString(text)
			}
		}
	}
}

// aboutOf lists the resources that a part of a report is about.
func aboutOf(v reflect.Value) (list []report.Resource) {
	if one := v.FieldByName("Resource"); one.IsValid() {
		if r, ok := one.Interface().(report.Resource); ok {
			list = append(list, r)
		}
	}
	if more := v.FieldByName("Resources"); more.IsValid() {
		if rs, ok := more.Interface().([]report.Resource); ok {
			list = append(list, rs...)
		}
	}
	return list
}

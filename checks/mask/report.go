package mask

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// names are fields of a report with names and counts, which are never masked. All other strings are searched, including
// those in fields that are added later.
var names = map[string]bool{
	"Title": true, "Policy": true, "Rule": true, "Severity": true, "PolicyPath": true, "Name": true, "Kind": true,
	"APIVersion": true, "Namespace": true, "Root": true, "Roots": true, "RootsIn": true, "RootsOut": true, "RootsMoved": true,
	"Clusters": true, "Field": true, "Fields": true, "Path": true, "Blob": true, "Commit": true,
	"Revision": true, "Ref": true, "Teams": true, "Users": true, "User": true, "Who": true, "By": true, "Exception": true,
	"Settings": true, "Container": true, "Files": true, "File": true, "Missing": true, "Set": true, "Role": true,
	"How": true, "Category": true, "Rules": true, "Undeclared": true,
}

// Report masks values in a report. It removes suggestions for values of Secrets, and drafts of exceptions that would
// name one.
func Report(rep *report.Report, v *Values) {
	for i := range rep.Findings {
		suggestion(&rep.Findings[i])
	}
	drafts := report.Mapped(rep.Drafts, func(d report.Draft) string { return d.YAML })
	Texts(rep, v)
	for i := range rep.Drafts {
		if d := &rep.Drafts[i]; d.YAML != drafts[i] {
			d.YAML = ""
			d.Why = "it would contain a value of a Secret"
		}
	}
}

// OfValue reports whether a finding is about a value of a Secret.
func OfValue(f *report.Finding) bool { return ofSecret(f, f.Field) }

// ofSecret reports whether a field of the resources of a finding is a value of a Secret.
func ofSecret(f *report.Finding, field string) bool {
	is := func(r report.Resource) bool { return isKind(r.Kind) && InData(r.APIVersion, field) }
	return is(f.Resource) || slices.ContainsFunc(f.Resources, is)
}

// suggestion masks or removes the suggestion of a finding about a value of a Secret.
func suggestion(f *report.Finding) {
	s := f.Suggestion
	if s == nil || !ofSecret(f, s.Field) {
		return
	}
	s.Diff = nil
	if s.Was == "" {
		return
	}
	s.Was = report.Hidden
	if !s.Remove {
		f.Suggestion = nil // the suggested text may be derived from the present value
	}
}

// InData reports whether a field of a Secret, as an RFC 6901 pointer, is one of its values or contains only such: all
// fields are that are not known to be something else. A Secret of another API, such as that of a cloud provider, has
// fields of its own, and values in data and stringData only.
func InData(apiVersion, field string) bool {
	if !strings.HasPrefix(field, "/") || field == "/" || field == "/metadata" {
		return false
	}
	tokens := slices.Collect(jsonpointer.Tokens(field))
	group, _, named := strings.Cut(apiVersion, "/")
	if name := tokens[0]; isData(name) || named && strings.Contains(group, ".") {
		return isData(name)
	}
	name := tokens[0]
	if name == "metadata" {
		name += "/" + tokens[1]
	}
	return len(tokens) > plainFields[name]
}

// Texts masks values in all strings of a structure, given by its address. In parts of it that are about a Secret, it
// also masks that Secret's short values.
func Texts(of any, v *Values) {
	if v == nil {
		return
	}
	w := walker{values: v, words: map[string]bool{}, kinds: map[reflect.Type]*structKind{}}
	w.learn(reflect.ValueOf(of), false)
	w.walk(reflect.ValueOf(of), nil)
}

var causeType = reflect.TypeFor[report.Cause]()

type walker struct {
	values *Values
	words  map[string]bool // words in descriptions of policies
	kinds  map[reflect.Type]*structKind
	block  block // reused for one text at a time
}

type structKind struct {
	fields []structField // exported fields
	about  []int         // indexes of the fields with the resources that it is about
}

type structField struct {
	index int
	named bool
}

func (w *walker) kind(t reflect.Type) *structKind {
	if k := w.kinds[t]; k != nil {
		return k
	}
	k := &structKind{}
	w.kinds[t] = k
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		k.fields = append(k.fields, structField{i, names[f.Name]})
		if f.Name == "Resource" && f.Type == reflect.TypeFor[report.Resource]() ||
			f.Name == "Resources" && f.Type == reflect.TypeFor[[]report.Resource]() {
			k.about = append(k.about, i)
		}
	}
	return k
}

// learn collects the names in the structure, and the words of the descriptions of policies.
func (w *walker) learn(v reflect.Value, named bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.learn(v.Elem(), named)
		}
	case reflect.Struct:
		if v.Type() == causeType && v.FieldByName("Kind").String() == string(report.CauseSource) {
			w.values.source(v.FieldByName("What").String())
		}
		for _, f := range w.kind(v.Type()).fields {
			w.learn(v.Field(f.index), f.named)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.learn(v.Index(i), named)
		}
	case reflect.Map:
		if about, ok := v.Interface().(map[string]report.About); ok {
			for _, a := range about {
				for word := range strings.FieldsFuncSeq(a.Title+" "+a.Description, func(r rune) bool { return !isWord(r) }) {
					w.words[word] = true
				}
			}
		}
	case reflect.String:
		if named {
			w.values.Name(v.String())
		}
	}
}

// walk masks the strings in a value. about are the resources that they are about.
func (w *walker) walk(v reflect.Value, about []report.Resource) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(v.Elem(), about)
		}
	case reflect.Struct:
		k := w.kind(v.Type())
		if k.about != nil {
			about = k.secrets(v)
		}
		for _, f := range k.fields {
			if !f.named {
				w.walk(v.Field(f.index), about)
			}
		}
	case reflect.Slice, reflect.Array:
		if lines, ok := v.Interface().([]report.DiffLine); ok {
			w.difference(lines, about)
			return
		}
		for i := range v.Len() {
			w.walk(v.Index(i), about)
		}
	case reflect.Map:
		if lines, ok := v.Interface().(map[int]string); ok {
			w.excerpt(lines, about)
			return
		}
		for _, key := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(key))
			w.walk(one, about)
			v.SetMapIndex(key, one)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() { // other types contain constants only
			if found := w.values.find(v.String(), about, w.words); len(found) > 0 {
				v.SetString(replace(v.String(), found))
			}
		}
	}
}

// secrets lists the Secrets that a struct is about.
func (k *structKind) secrets(v reflect.Value) (list []report.Resource) {
	for _, i := range k.about {
		switch of := v.Field(i).Interface().(type) {
		case report.Resource:
			list = append(list, of)
		case []report.Resource:
			list = append(list, of...)
		}
	}
	return slices.DeleteFunc(list, func(r report.Resource) bool { return !isKind(r.Kind) })
}

// excerpt masks values in lines of a file, also values that continue over several lines.
func (w *walker) excerpt(lines map[int]string, about []report.Resource) {
	numbers := slices.Sorted(maps.Keys(lines))
	for from := 0; from < len(numbers); {
		to := from + 1
		for to < len(numbers) && numbers[to] == numbers[to-1]+1 {
			to++
		}
		part := w.block.empty()
		for _, n := range numbers[from:to] {
			part.add(n, lines[n])
		}
		for n, found := range part.find(w, about) {
			lines[n] = replace(lines[n], found)
		}
		from = to
	}
}

// difference is excerpt for the lines on each side of a difference. It removes columns that would reveal the length of
// masked text.
func (w *walker) difference(lines []report.DiffLine, about []report.Resource) {
	found := map[int][]span{}
	for _, sign := range []string{"-", "+"} {
		side := w.block.empty()
		for i := range lines {
			if s := lines[i].Sign; s == sign || s == " " {
				side.add(i, lines[i].Text)
			}
		}
		for i, more := range side.find(w, about) {
			found[i] = append(found[i], more...)
		}
	}
	for i := range lines {
		l := &lines[i]
		if l.Text = replace(l.Text, found[i]); l.Origin != nil && (strings.Contains(l.Text, report.Hidden) ||
			strings.Contains(l.Text, changed)) {
			shortened := *l.Origin
			shortened.EndColumn = 0
			l.Origin = &shortened
		}
	}
}

type block struct {
	text []byte
	at   []int // where each line begins
	key  []int // key of each line
}

func (l *block) empty() *block {
	l.text, l.at, l.key = l.text[:0], l.at[:0], l.key[:0]
	return l
}

func (l *block) add(key int, text string) {
	l.at, l.key = append(l.at, len(l.text)), append(l.key, key)
	l.text = append(append(l.text, text...), '\n')
}

// find returns the parts of each line to mask, by the line's key.
func (l *block) find(w *walker, about []report.Resource) map[int][]span {
	text := string(l.text)
	var out map[int][]span
	for _, s := range w.values.find(text, about, w.words) {
		i, _ := slices.BinarySearch(l.at, s.from+1)
		for i--; i < len(l.at) && l.at[i] < s.to; i++ {
			end := len(text) - 1
			if i+1 < len(l.at) {
				end = l.at[i+1] - 1
			}
			from, to := max(s.from, l.at[i]), min(s.to, end)
			from += len(text[from:max(from, to)]) - len(strings.TrimLeft(text[from:max(from, to)], " \t"))
			if from < to {
				if out == nil {
					out = map[int][]span{}
				}
				out[l.key[i]] = append(out[l.key[i]], span{from - l.at[i], to - l.at[i]})
			}
		}
	}
	return out
}

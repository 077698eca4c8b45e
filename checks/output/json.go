package output

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unicode/utf16"

	"github.com/lintel-bot/lintel/checks/report"
)

// checkJSON writes all of the report except source lines and the edits for its findings.
func checkJSON(w io.Writer, r *report.Report, o Options) error {
	out := *r
	out.Excerpts, out.Work, out.Annotations, out.RemoteSources = nil, nil, nil, nil
	out.Edits, out.Suggest = nil, false
	return completeJSON(w, &out, o)
}

// completeJSON writes a value without null lists, and without fields about who may read it.
func completeJSON[V any](w io.Writer, v V, _ Options) error {
	return writeJSON(w, complete(reflect.ValueOf(v)).Interface())
}

// complete returns a copy of a value in which nil lists are empty lists.
func complete(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(complete(v.Elem()))
		return out
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(complete(v.Index(i)))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Name == "Quotes": // of problems and causes: it is about who may read them
				out.Field(i).SetZero()
			case f.IsExported():
				out.Field(i).Set(complete(v.Field(i)))
			}
		}
		return out
	}
	return v
}

// evalJSON writes the results of an evaluation, one line for each. It keeps only a part of the text in memory, since
// there can be hundreds of thousands of results.
func evalJSON(w io.Writer, r *report.Evaluation, _ Options) error {
	out := bufio.NewWriterSize(w, 32<<10)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var failed error
	add := func(before string, value any) {
		b.Reset()
		failed = cmp.Or(failed, e.Encode(value))
		fmt.Fprint(out, before) // Flush returns the error
		_, _ = out.Write(safeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
	}
	list := func(name string, n int, at func(i int) any) {
		fmt.Fprint(out, name, ": [")
		for i := range n {
			add([]string{"\n", ",\n"}[min(i, 1)], at(i))
		}
		fmt.Fprint(out, "\n],\n")
	}
	list("{\n\"results\"", len(r.Results), func(i int) any { return &r.Results[i] })
	if len(r.Trace) > 0 {
		list("\"trace\"", len(r.Trace), func(i int) any { return &r.Trace[i] })
	}
	add("\"errors\": ", r.Errors)
	if len(r.Warnings) > 0 {
		add(",\n\"warnings\": ", r.Warnings)
	}
	add(",\n\"stats\": ", r.Stats)
	add(",\n\"conclusion\": ", r.Conclusion)
	fmt.Fprint(out, "\n}\n")
	return cmp.Or(failed, out.Flush())
}

// valueJSON writes a value without changes.
func valueJSON[V any](w io.Writer, v V, _ Options) error { return writeJSON(w, v) }

// plainJSON writes indented JSON in the format of encoding/json.
func plainJSON[V any](w io.Writer, v V, _ Options) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// writeJSON writes indented JSON in which every hostile character is escaped.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := plainJSON(&b, v, Options{}); err != nil {
		return err
	}
	_, err := w.Write(safeJSON(b.Bytes()))
	return err
}

// safeJSON escapes what a terminal or the log of a CI system would execute (see tame).
func safeJSON(data []byte) []byte {
	return bytes.ReplaceAll(escapeJSON(data), []byte("##"), []byte(`#\u0023`)) // occurs only within strings
}

// escapeJSON escapes characters that encoding/json does not: DEL, C1 controls, and invisible format characters. In
// valid JSON, they occur only within strings.
func escapeJSON(data []byte) []byte {
	if bytes.IndexFunc(data, func(r rune) bool { return r != '\n' && hostile(r) }) < 0 {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if r == '\n' || !hostile(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

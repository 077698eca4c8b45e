package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
)

// checkJSON writes all of the report but the source lines. Lists are never null.
func checkJSON(w io.Writer, r *report.Report, _ Options) error {
	out := *r
	out.Excerpts, out.Work, out.Annotations, out.Outside = nil, nil, nil, nil
	out.Findings = make([]report.Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Roots, f.Origin = append([]string{}, f.Roots...), originJSON(f.Origin)
		out.Findings[i] = f
	}
	out.Errors, out.Warnings = append([]report.Problem{}, problemsJSON(r.Errors)...), problemsJSON(r.Warnings)
	out.NotChecked = notCheckedJSON(r.NotChecked)
	out.Bumps, out.Differences = bumpsJSON(r.Bumps), differencesJSON(r.Differences)
	out.Preview = previewJSON(r.Preview)
	return writeJSON(w, &out)
}

// diffJSON writes what a change does to the rendered resources. Lists are never null.
func diffJSON(w io.Writer, d *report.Differences, _ Options) error {
	out := *d
	out.Differences, out.Images = filled(differencesJSON(d.Differences)), filled(d.Images)
	out.Errors, out.Warnings = filled(problemsJSON(d.Errors)), problemsJSON(d.Warnings)
	out.NotChecked = notCheckedJSON(d.NotChecked)
	return writeJSON(w, &out)
}

// problemsJSON are problems as programs read them: who may see them is no matter of theirs.
func problemsJSON(list []report.Problem) []report.Problem {
	list = slices.Clone(list)
	for i := range list {
		list[i].Quotes = false
	}
	return list
}

func notCheckedJSON(list []report.NotChecked) []report.NotChecked {
	list = slices.Clone(list)
	for i := range list {
		list[i].Quotes = false
	}
	return list
}

// differencesJSON are differences in which no list is null.
func differencesJSON(list []report.Difference) []report.Difference {
	list = slices.Clone(list)
	for i := range list {
		d := &list[i]
		d.Roots, d.Hunks = filled(d.Roots), append([]report.DiffHunk{}, d.Hunks...)
		for k := range d.Hunks {
			lines := append([]report.DiffLine{}, d.Hunks[k].Lines...)
			for j := range lines {
				lines[j].Origin = originJSON(lines[j].Origin)
			}
			d.Hunks[k].Lines = lines
		}
	}
	return list
}

// previewJSON is a preview in which no list is null.
func previewJSON(p *report.Preview) *report.Preview {
	if p == nil {
		return nil
	}
	out := *p
	out.Policies = append([]report.PolicyPreview{}, p.Policies...)
	out.Warnings, out.Notices = problemsJSON(p.Warnings), problemsJSON(p.Notices)
	out.Findings = slices.Clone(p.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Roots, f.Origin = append([]string{}, f.Roots...), originJSON(f.Origin)
	}
	return &out
}

// bumpsJSON are bumps in which no list is null.
func bumpsJSON(list []report.Bump) []report.Bump {
	out := append([]report.Bump{}, list...)
	for i := range out {
		b := &out[i]
		b.Moved, b.Added, b.Removed = append([]report.Moved{}, b.Moved...), filled(b.Added), filled(b.Removed)
		b.Changed, b.Images, b.CRDs = filled(b.Changed), filled(b.Images), filled(b.CRDs)
		b.Grants, b.Values = filled(b.Grants), filled(b.Values)
		for k := range b.Moved {
			b.Moved[k].Links = filled(b.Moved[k].Links)
		}
	}
	return out
}

// filled is a list that is not null.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// originJSON is a place in which no list is null.
func originJSON(o *report.Origin) *report.Origin {
	if o == nil {
		return nil
	}
	out := *o
	out.Chain = append([]report.Place{}, o.Chain...)
	return &out
}

// evalJSON writes what policies say about objects, one line for each result. It holds a part of the text at a time:
// there can be hundreds of thousands of results.
func evalJSON(w io.Writer, r *report.Evaluation, _ Options) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString("{\n\"results\": ")
	if err := writeLines(w, &b, e, r.Results); err != nil {
		return err
	}
	if len(r.Trace) > 0 {
		b.WriteString("\"trace\": ")
		if err := writeLines(w, &b, e, r.Trace); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"errors", r.Errors}, {"warnings", r.Warnings}, {"stats", r.Stats}, {"conclusion", r.Conclusion}} {
		if part.name == "warnings" && len(r.Warnings) == 0 {
			continue
		}
		b.WriteString("\"" + part.name + "\": ")
		if err := e.Encode(part.value); err != nil {
			return err
		}
		if part.name != "conclusion" {
			b.Truncate(b.Len() - 1)
			b.WriteString(",\n")
		}
	}
	b.WriteString("}\n")
	_, err := w.Write(safeJSON(b.Bytes()))
	return err
}

// writeLines writes a list with one line for each entry, and a comma behind it. What is in the buffer comes first.
func writeLines[T any](w io.Writer, b *bytes.Buffer, e *json.Encoder, list []T) error {
	b.WriteString("[\n")
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return err
		}
		if i < len(list)-1 {
			b.Truncate(b.Len() - 1)
			b.WriteString(",\n")
		}
		if b.Len() > 32<<10 {
			if _, err := w.Write(safeJSON(b.Bytes())); err != nil {
				return err
			}
			b.Reset()
		}
	}
	b.WriteString("],\n")
	return nil
}

// valueJSON writes a value as it is.
func valueJSON[V any](w io.Writer, v V, _ Options) error { return writeJSON(w, v) }

// listJSON writes a list, which is never null.
func listJSON[T any](w io.Writer, list []T, _ Options) error { return writeJSON(w, filled(list)) }

// plainJSON writes indented JSON as encoding/json has it.
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

// safeJSON escapes what a terminal or the log of a CI system would obey (see tame).
func safeJSON(data []byte) []byte {
	return bytes.ReplaceAll(escapeJSON(data), []byte("##"), []byte(`#\u0023`)) // only within strings
}

// escapeJSON escapes what encoding/json leaves alone: DEL, C1 controls, and invisible format characters.
// In valid JSON they only stand within strings.
func escapeJSON(data []byte) []byte {
	if bytes.IndexFunc(data, func(r rune) bool { return r != '\n' && hostile(r) }) < 0 {
		return data
	}
	var b bytes.Buffer
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == '\n' || !hostile(r):
			b.Write(data[:n])
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		data = data[n:]
	}
	return b.Bytes()
}

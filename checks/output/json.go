package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lintel-bot/lintel/checks/report"
)

// JSON writes the report as the stable output for programs: all of it but the source lines. Lists are never
// null.
func JSON(w io.Writer, r *report.Report) error {
	out := *r
	out.Excerpts, out.Work = nil, nil
	out.Findings = make([]report.Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Roots = append([]string{}, f.Roots...)
		if f.Origin != nil {
			origin := *f.Origin
			origin.Chain = append([]report.Place{}, origin.Chain...)
			f.Origin = &origin
		}
		out.Findings[i] = f
	}
	out.Errors = append([]report.Problem{}, r.Errors...)
	out.Preview = previewJSON(r.Preview)
	return writeJSON(w, &out)
}

// writeJSON writes indented JSON in which every hostile character is escaped.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	data := bytes.ReplaceAll(escapeJSON(b.Bytes()), []byte("##"), []byte(`#\u0023`)) // see tame; only within strings
	_, err := w.Write(data)
	return err
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

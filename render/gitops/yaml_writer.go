package gitops

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// writer writes values as block YAML, one scalar a line, and notes where each line comes from.
type writer struct {
	out   strings.Builder
	lines []line
}

func (w *writer) line(text string, at Position) {
	w.out.WriteString(text + "\n")
	w.lines = append(w.lines, line{at: at, moved: true})
}

// entry writes "key: value".
func (w *writer) entry(indent int, key string, f *field) {
	w.value(strings.Repeat(" ", indent)+quoted(key)+":", indent+2, f)
}

// value writes a value behind what stands on its first line already.
func (w *writer) value(head string, indent int, f *field) {
	pad := strings.Repeat(" ", indent)
	switch {
	case f == nil:
		w.line(head+" null", Position{})
	case f.fields != nil && len(f.keys) == 0:
		w.line(head+" {}", f.position())
	case f.list && len(f.items) == 0:
		w.line(head+" []", f.position())
	case f.fields != nil:
		w.line(head, f.position())
		for _, k := range f.keys {
			w.entry(indent, k, f.fields[k])
		}
	case f.list:
		w.line(head, f.position())
		for _, item := range f.items {
			if item.fields == nil || len(item.keys) == 0 {
				w.value(pad+"-", indent+2, item)
				continue
			}
			for i, k := range item.keys {
				start := pad + "  "
				if i == 0 {
					start = pad + "- "
				}
				w.value(start+quoted(k)+":", indent+4, item.fields[k])
			}
		}
	default:
		w.scalar(head, pad, f)
	}
}

func (w *writer) scalar(head, pad string, f *field) {
	at := f.position()
	text, ok := f.scalar.(string)
	if !ok || !blockable(text) {
		w.line(head+" "+scalarText(f.scalar), at)
		return
	}
	body := strings.TrimRight(text, "\n")
	trailing := len(text) - len(body)
	mark := " |"
	if strings.HasPrefix(body, " ") || strings.HasPrefix(body, "\n") {
		mark += "2"
	}
	switch trailing {
	case 0:
		mark += "-"
	case 1:
	default:
		mark += "+"
		body += strings.Repeat("\n", trailing-1)
	}
	w.line(head+mark, at)
	for i, part := range strings.Split(body, "\n") {
		from := Position{Path: at.Path, Line: at.Line}
		if at.EndLine > at.Line {
			from.Line = min(at.Line+1+i, at.EndLine) // the text of a block starts below its mark
		}
		if part != "" {
			part = pad + part
		}
		w.line(part, from)
	}
}

// blockable reports whether a text can be written as a literal block: it has several lines and nothing that YAML
// would not keep as it is.
func blockable(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\n"), "\n") {
		return false
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return !strings.HasPrefix(strings.TrimLeft(text, " \n"), "\t")
}

func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return textOf(v)
}

// quoted writes a text in double quotes, which JSON and YAML share, unless it is a plain word.
func quoted(s string) string {
	if plainWord(s) {
		return s
	}
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(data)
}

// plainWord reports whether a text is a string in YAML without quotes: a name that is neither a number nor one of
// the words for true, false and null.
func plainWord(s string) bool {
	if len(s) < 3 || len(s) > 64 || !unicode.IsLetter(rune(s[0])) {
		return false
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '/' {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "off", "null", "nan", "inf":
		return false
	}
	return true
}

package doc

import "testing"

func TestDocuments(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		lines      []int
		problems   string
	}{
		{"two", "a: 1\n---\nb: 2\n", []int{1, 3}, ""},
		{"a broken one between", "a: 1\n---\nb: [\n---\nc: 3\n---\nd: 1\n  e: 2\n", []int{1, 5}, "f.yaml:3 f.yaml:8"},
		{"byte order mark", "\xef\xbb\xbfa: 1\n", []int{1}, ""},
		{"NUL", "a: 1\nb: \x00", nil, "f.yaml:2"},
		{"not UTF-8", "a: 1\n\nb: \xff", nil, "f.yaml:3"},
		{"two without a marker", "{a: 1}\n{b: 2}\n", []int{1}, "f.yaml:1"},
		{"text at an end", "a: 1\n... b: 2\nc: 3\n", nil, "f.yaml:2"},
		{"a comment that ends in a carriage return", "a: 1\n---\n# c\rb: 2\n---\nc: 3\n", []int{1, 3, 5}, ""},
		{"line separators in a value and a comment", "a: '\u2028' # \u0085\n---\nb: '1\r'\nc: 2\n---\nd: [\n", []int{1, 3}, "f.yaml:6"},
		{"byte order mark after a marker", "a: 1\n---\n\ufeffb: 2\n", []int{1, 3}, ""},
		{"empty", "---\n# nothing\n---\n", nil, ""},
	} {
		documents, problems := Documents("f.yaml", []byte(tt.data), Limits{})
		var got string
		for i, p := range problems {
			if i > 0 {
				got += " "
			}
			got += p.Path + ":" + string(rune('0'+p.Line))
		}
		if got != tt.problems || len(documents) != len(tt.lines) {
			t.Errorf("%s: %d documents, problems %v", tt.name, len(documents), problems)
			continue
		}
		for i, d := range documents {
			if d.Line != tt.lines[i] {
				t.Errorf("%s: document at line %d, want %d", tt.name, d.Line, tt.lines[i])
			}
		}
	}
}

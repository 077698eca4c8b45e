package jsonpointer

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/go-openapi/jsonpointer"
)

const sample = `{"a/b": [{"c~d": "x", "": 1, "~1": null}], "n": {"0": "zero", "-": true, "01": [[], [2, 3]]}, ` +
	`"": {"": 4}}`

func TestLookup(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(sample), &v); err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/a~1b/0/c~0d": `"x"`, "/a~1b/0/": "1", "/a~1b/0/~01": "null", "/n/0": `"zero"`, "/n/-": "true", "/n/01/1/1": "3",
		"/": `{"":4}`, "//": "4", "": "all", "/a": "", "/a~1b/1": "", "/a~1b/-1": "", "/a~1b/x": "", "/a~1b/0/c~0d/e": "",
		"/n/01/1/1/": "",
		"a":          "", "/a~1b/-": "", "/a~1b/0/~1": "",
	} {
		got, ok := Lookup(v, pointer)
		text, _ := json.Marshal(got)
		if pointer == "" && reflect.DeepEqual(got, v) && ok {
			continue
		}
		if ok != (want != "") || ok && string(text) != want {
			t.Errorf("%q: got %s, %v", pointer, text, ok)
		}
		if !reflect.DeepEqual(At(v, pointer), got) {
			t.Errorf("%q: At differs", pointer)
		}
	}
}

func TestTokens(t *testing.T) {
	for pointer, want := range map[string][]string{
		"": nil, "/": {""}, "/a": {"a"}, "/a~1b/c~0d/": {"a/b", "c~d", ""}, "/~01": {"~1"},
	} {
		if got := slices.Collect(Tokens(pointer)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", pointer, got)
		} else if back := Join(got...); back != pointer {
			t.Errorf("%q: written as %q", pointer, back)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		pointer, parent, rest string
		ok                    bool
	}{
		{"/request/object/spec", "/request/object", "/spec", true}, {"/a", "/a", "", true}, {"/a", "", "/a", true},
		{"/request/objectX", "/request/object", "X", false}, {"/a", "/b", "/a", false},
	} {
		if rest, ok := Below(tt.pointer, tt.parent); rest != tt.rest || ok != tt.ok {
			t.Errorf("%s of %s: got %q %v", tt.pointer, tt.parent, rest, ok)
		}
	}
}

// The walk finds what go-openapi's finds.
func FuzzLookup(f *testing.F) {
	for _, pointer := range []string{"", "/", "/a~1b/0/c~0d", "/n/01/1/+1", "/n/~", "/n/-", "/a~1b/-", "/a~1b/00/c~0d",
		"x", "/n/01/1/1/0"} {
		f.Add(sample, pointer)
	}
	f.Fuzz(func(t *testing.T, document, pointer string) {
		var v any
		if json.Unmarshal([]byte(document), &v) != nil {
			return
		}
		got, ok := Lookup(v, pointer)
		p, err := jsonpointer.New(pointer)
		var want any
		if err == nil {
			want, _, err = p.Get(v)
		}
		if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%q of %s: got %v %v, go-openapi has %v %v", pointer, document, got, ok, want, err)
		}
		if err == nil && !slices.Equal(slices.Collect(Tokens(pointer)), p.DecodedTokens()) {
			t.Errorf("%q: tokens %q, go-openapi has %q", pointer, slices.Collect(Tokens(pointer)), p.DecodedTokens())
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	v := map[string]any{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": "a"}}}}}}
	for b.Loop() {
		if At(v, "/spec/template/spec/containers/0/image") != "a" {
			b.Fatal("not found")
		}
	}
}

package pattern

import (
	"errors"
	"testing"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

func TestMatchAnchors(t *testing.T) {
	runRows(t, []row{
		// conditional: if the field is there with this value, the peers must hold
		{`{"(a)": x, b: yy}`, `{a: x, b: yy}`, Pass, "", ""},
		{`{"(a)": x, b: yy}`, `{a: x, b: z}`, Fail, "/b/", "/b"},
		{`{"(a)": x, b: yy}`, `{a: x}`, Fail, "/b/", "/b"},
		{`{"(a)": x, b: yy}`, `{a: w, b: z}`, Skip, "", ""},
		{`{"(a)": x, b: yy}`, `{b: yy}`, Skip, "", ""},
		{`{"(a)": x, b: yy}`, `{a: null, b: yy}`, Skip, "", ""},
		{`{"(a)": x}`, `{a: x}`, Pass, "", ""},
		{`{" (a) ": x, b: yy}`, `{a: x, b: yy}`, Pass, "", ""},
		{`{"(a)": x, "(b)": yy, c: z}`, `{a: x, b: yy, c: w}`, Fail, "/c/", "/c"},
		{`{"(a)": x, "(b)": yy, c: z}`, `{a: x, b: w, c: w}`, Skip, "", ""},
		{`{"(a)": "*:latest", b: "!IfNotPresent"}`, `{a: nginx:latest, b: IfNotPresent}`, Fail, "/b/", "/b"},
		{`{"(a)": "*:latest", b: "!IfNotPresent"}`, `{a: nginx:1, b: IfNotPresent}`, Skip, "", ""},
		{`{"(a)": null, b: yy}`, `{a: "", b: z}`, Fail, "/b/", "/b"},
		{`{"(a)": "?*", b: yy}`, `{a: [p, q], b: z}`, Fail, "/b/", "/b"},
		{`{"(a)": p, b: yy}`, `{a: [p, q], b: z}`, Skip, "", ""},
		// conditional on maps: all below belongs to the condition
		{`{"(s)": {a: x}, b: yy}`, `{s: {a: x}, b: z}`, Fail, "/b/", "/b"},
		{`{"(s)": {a: x}, b: yy}`, `{s: {a: w}, b: z}`, Skip, "", ""},
		{`{"(s)": {a: x}, b: yy}`, `{s: {}, b: z}`, Skip, "", ""},
		{`{"(s)": {"(a)": x, c: d}, b: yy}`, `{s: {a: x, c: d}, b: z}`, Fail, "/b/", "/b"},
		{`{"(s)": {"(a)": x, c: d}, b: yy}`, `{s: {a: x, c: e}, b: z}`, Skip, "", ""},
		{`{"(s)": {"X(a)": x}, b: yy}`, `{s: {a: x}, b: z}`, Skip, "", ""},
		{`{"(s)": {"=(a)": x}, b: yy}`, `{s: {}, b: z}`, Fail, "/b/", "/b"},
		{`{"(s)": {"^(l)": [{a: x}]}, b: yy}`, `{s: {l: [{a: w}]}, b: z}`, Skip, "", ""},
		{`{"(s)": {"^(l)": [{a: x}]}, b: yy}`, `{s: {l: [{a: w}, {a: x}]}, b: z}`, Fail, "/b/", "/b"},
		// the example of the documentation: docker.sock needs a label
		{`{metadata: {labels: {allow: "true"}}, "(spec)": {"(volumes)": [{"(hostPath)": {path: /sock}}]}}`,
			`{metadata: {labels: {}}, spec: {volumes: [{hostPath: {path: /sock}}]}}`, Fail, "/metadata/labels/allow/",
			"/metadata/labels/allow"},
		{`{metadata: {labels: {allow: "true"}}, "(spec)": {"(volumes)": [{"(hostPath)": {path: /sock}}]}}`,
			`{metadata: {labels: {allow: "true"}}, spec: {volumes: [{hostPath: {path: /sock}}]}}`, Pass, "", ""},
		{`{metadata: {labels: {allow: "true"}}, "(spec)": {"(volumes)": [{"(hostPath)": {path: /sock}}]}}`,
			`{metadata: {}, spec: {volumes: [{hostPath: {path: /other}}]}}`, Skip, "", ""},
		{`{metadata: {labels: {allow: "true"}}, "(spec)": {"(volumes)": [{"(hostPath)": {path: /sock}}]}}`,
			`{metadata: {}, spec: {}}`, Skip, "", ""},
		{`{metadata: {labels: {allow: "true"}}, "(spec)": {"(volumes)": [{"(hostPath)": {path: /sock}}]}}`,
			`{metadata: {labels: {}}, spec: {volumes: [{emptyDir: {}}, {hostPath: {path: /sock}}]}}`, Fail,
			"/metadata/labels/allow/", "/metadata/labels/allow"},
		// conditional in lists: elements that do not meet it do not count
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{nn: a, i: x}, {nn: b, i: yy}]}`, Pass, "", ""},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{nn: b, i: yy}, {nn: a, i: yy}]}`, Fail, "/c/1/i/", "/c/1/i"},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{nn: a, i: yy}, {nn: b, i: yy}, {nn: a}]}`, Fail, "/c/0/i/", "/c/0/i /c/2/i"},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{nn: b}, {nn: c}]}`, Skip, "", ""},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{}]}`, Skip, "", ""},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: []}`, Pass, "", ""},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [x]}`, Fail, "/c/0/", "/c/0"},
		{`{c: [{"(nn)": a, i: x}]}`, `{c: [{nn: b}, x]}`, Fail, "/c/1/", "/c/1"},
		{`{c: [{"(nn)": a, i: x}]}`, `{}`, Fail, "/c/", "/c"},
		// a skip below plain keys skips what is above
		{`{s: {"(a)": x, b: yy}}`, `{s: {a: w}}`, Skip, "", ""},
		{`{s: {"(a)": x, b: yy}, t: z}`, `{s: {a: w}, t: w}`, Skip, "", ""},
		{`{s: {"(a)": x, b: yy}, t: z}`, `{s: {a: x, b: yy}, t: w}`, Fail, "/t/", "/t"},
		{`{s: {"(a)": x, b: yy}, t: z}`, `{s: {a: x, b: w}, t: w}`, Fail, "/s/b/", "/s/b /t"},
		// keys with anchors below come first, in reverse
		{`{a: {"=(x)": "1"}, b: {"=(x)": "1"}, c: z}`, `{a: {x: "2"}, b: {x: "2"}, c: yy}`, Fail, "/b/x/", "/a/x /b/x /c"},
		{`{a: yy, s: {"(nn)": x}}`, `{a: z, s: {nn: w}}`, Skip, "", ""},
		{`{a: {"=(x)": "1"}, b: {"(nn)": x}}`, `{a: {x: "2"}, b: {nn: w}}`, Skip, "", ""},
		{`{b: {"=(x)": "1"}, a: {"(nn)": x}}`, `{b: {x: "2"}, a: {nn: w}}`, Fail, "/b/x/", "/b/x"},
		// equality: if the field is there, it must match
		{`{"=(a)": x}`, `{a: x}`, Pass, "", ""},
		{`{"=(a)": x}`, `{}`, Pass, "", ""},
		{`{"=(a)": x}`, `{a: yy}`, Fail, "/a/", "/a"},
		{`{"=(a)": x}`, `{a: null}`, Fail, "/a/", "/a"},
		{`{"=(a)": x, b: yy}`, `{b: z}`, Fail, "/b/", "/b"},
		{`{"=(a)": x, b: yy}`, `{a: w, b: z}`, Fail, "/a/", "/a /b"},
		{`{"=(a)": "*"}`, `{a: {b: c}}`, Fail, "/a/", "/a"},
		{`{"=(a)": "*"}`, `{a: [b]}`, Pass, "", ""},
		{`{"=(a)": "false"}`, `{a: false}`, Pass, "", ""},
		{`{"=(a)": "false"}`, `{a: true}`, Fail, "/a/", "/a"},
		{`{"=(s)": {a: x}}`, `{}`, Pass, "", ""},
		{`{"=(s)": {a: x}}`, `{s: {}}`, Fail, "/s/a/", "/s/a"},
		{`{"=(s)": {"=(a)": x}}`, `{s: {}}`, Pass, "", ""},
		{`{"=(s)": {"=(a)": x}}`, `{s: {a: yy}}`, Fail, "/s/a/", "/s/a"},
		{`{"=(s)": {"=(a)": x}}`, `{s: yy}`, Fail, "/s/", "/s"},
		{`{"=(a)": x, "=(b)": yy}`, `{a: w, b: w}`, Fail, "/a/", "/a /b"},
		{`{spec: {"=(volumes)": [{"=(hostPath)": {path: "!/sock"}}]}}`,
			`{spec: {volumes: [{hostPath: {path: /sock}}, {emptyDir: {}}]}}`, Fail, "/spec/volumes/0/hostPath/path/",
			"/spec/volumes/0/hostPath/path"},
		{`{spec: {"=(volumes)": [{"=(hostPath)": {path: "!/sock"}}]}}`, `{spec: {volumes: [{hostPath: {path: /tmp}}]}}`, Pass,
			"", ""},
		{`{spec: {"=(volumes)": [{"=(hostPath)": {path: "!/sock"}}]}}`, `{spec: {}}`, Pass, "", ""},
		{`{c: [{"=(s)": {"=(p)": "false"}}]}`, `{c: [{}, {s: {p: true}}, {s: {}}, {s: {p: true}}]}`, Fail, "/c/1/s/p/",
			"/c/1/s/p /c/3/s/p"},
		// a skip below an equality anchor
		{`{"=(s)": {"(a)": x, b: yy}}`, `{s: {a: w}}`, Skip, "", ""},
		{`{"=(s)": {"(a)": x, b: yy}, c: d}`, `{s: {a: w}, c: e}`, Skip, "", ""},
		{`{"=(s)": {"(a)": x, b: yy}, "=(t)": z, c: d}`, `{s: {a: w}, c: e}`, Fail, "/c/", "/c"},
		{`{"=(s)": {"(a)": x, b: yy}, "=(t)": z, c: d}`, `{s: {a: w}, c: d}`, Pass, "", ""},
		{`{"=(s)": {"(a)": x, b: yy}, "=(t)": z}`, `{s: {a: w}, t: q}`, Fail, "/t/", "/t"},
		{`{"=(l)": [{"(a)": x, b: yy}], "=(t)": z, c: d}`, `{l: [{a: w}], t: z, c: e}`, Fail, "/c/", "/c"},
		// conditional wins over the other anchors of its map
		{`{"(a)": x, "=(b)": yy}`, `{a: w, b: z}`, Skip, "", ""},
		{`{"(a)": x, "X(b)": yy}`, `{a: w, b: z}`, Skip, "", ""},
		{`{"(a)": x, "^(b)": [{c: d}]}`, `{a: w, b: []}`, Skip, "", ""},
		{`{"(a)": x, "=(b)": yy, "X(c)": z}`, `{a: x, b: z, c: z}`, Fail, "/b/", "/b /c"},
		// negation: the field must not be there
		{`{"X(a)": "null"}`, `{}`, Pass, "", ""},
		{`{"X(a)": "null"}`, `{a: x}`, Fail, "/a/", "/a"},
		{`{"X(a)": "null"}`, `{a: null}`, Fail, "/a/", "/a"},
		{`{"X(a)": null}`, `{a: x}`, Fail, "/a/", "/a"},
		{`{"X(a)": {b: c}}`, `{a: {b: x}}`, Fail, "/a/", "/a"},
		{`{"X(a)": "null", "X(b)": "null"}`, `{a: 1, b: 2}`, Fail, "/a/", "/a /b"},
		{`{"X(a)": "null", b: c}`, `{a: 1}`, Fail, "/a/", "/a /b"},
		{`{v: [{"X(hostPath)": "null"}]}`, `{v: [{emptyDir: {}}, {hostPath: {}}, {hostPath: {}}]}`, Fail, "/v/1/hostPath/",
			"/v/1/hostPath /v/2/hostPath"},
		{`{"=(v)": [{"X(hostPath)": "null"}]}`, `{}`, Pass, "", ""},
		{`{s: {"X(a/b)": "null"}}`, `{s: {a/b: 1}}`, Fail, "/s/a/b/", "/s/a~1b"},
		// existence: at least one element
		{`{"^(c)": [{image: nginx}]}`, `{c: [{image: redis}, {image: nginx}]}`, Pass, "", ""},
		{`{"^(c)": [{image: nginx}]}`, `{c: [{image: redis}]}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{image: nginx}]}`, `{c: []}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{image: nginx}]}`, `{}`, Pass, "", ""},
		{`{"^(c)": [{image: nginx}]}`, `{c: {image: nginx}}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{image: nginx}]}`, `{c: null}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{image: nginx}]}`, `{c: [nginx]}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{image: a}, {image: b}]}`, `{c: [{image: b}, {image: a}]}`, Pass, "", ""},
		{`{"^(c)": [{image: a}, {image: b}]}`, `{c: [{image: a}]}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{"(nn)": a, image: b}]}`, `{c: [{nn: a, image: c}, {nn: d}]}`, Fail, "/c/", "/c"},
		{`{"^(c)": [{"(nn)": a, image: b}]}`, `{c: [{nn: x}, {nn: a, image: b}]}`, Pass, "", ""},
		{`{"^(c)": [nginx]}`, `{c: [nginx]}`, Fail, "/c/", "/c"},
		{`{s: {"^(c)": [{image: nginx}]}, t: u}`, `{s: {c: []}, t: v}`, Fail, "/s/c/", "/s/c /t"},
		// global: if the field is there and differs, the whole pattern does not apply
		{`{"<(a)": x, b: yy}`, `{a: x, b: yy}`, Pass, "", ""},
		{`{"<(a)": x, b: yy}`, `{a: x, b: z}`, Fail, "/b/", "/b"},
		{`{"<(a)": x, b: yy}`, `{a: w, b: z}`, Skip, "", ""},
		{`{"<(a)": x, b: yy}`, `{b: z}`, Fail, "/b/", "/b"},
		{`{"<(a)": x, b: yy}`, `{b: yy}`, Pass, "", ""},
		{`{s: {"<(a)": x}, b: yy}`, `{s: {a: w}, b: z}`, Skip, "", ""},
		{`{s: {t: {"<(a)": x}}, b: yy}`, `{s: {t: {a: w}}, b: z}`, Skip, "", ""},
		{`{s: {c: [{nn: "*", "<(image)": "reg/*"}], p: [{name: secret}]}}`,
			`{s: {c: [{nn: a, image: reg/a}], p: [{name: other}]}}`, Fail, "/s/p/0/name/", "/s/p/0/name"},
		{`{s: {c: [{nn: "*", "<(image)": "reg/*"}], p: [{name: secret}]}}`,
			`{s: {c: [{nn: a, image: x/a}], p: [{name: other}]}}`, Skip, "", ""},
		{`{s: {c: [{nn: "*", "<(image)": "reg/*"}], p: [{name: secret}]}}`,
			`{s: {c: [{nn: a, image: x/a}, {nn: b, image: reg/b}]}}`, Fail, "/s/p/", "/s/p"},
		{`{s: {c: [{nn: "*", "<(image)": "reg/*"}], p: [{name: secret}]}}`,
			`{s: {c: [{nn: a, image: reg/a}], p: [{name: secret}]}}`, Pass, "", ""},
		{`{"=(s)": {"<(a)": x}, "X(t)": "null"}`, `{s: {a: w}, t: 1}`, Skip, "", ""},
		{`{"=(s)": {"<(a)": x}, "=(b)": yy}`, `{s: {a: w}, b: yy}`, Skip, "", ""},
		{`{"=(b)": yy, "=(s)": {"<(a)": x}}`, `{s: {a: w}, b: z}`, Fail, "/b/", "/b"},
		{`{"=(s)": {"=(t)": {"<(a)": x}}, "=(b)": yy}`, `{s: {t: {a: w}}, b: yy}`, Pass, "", ""},
		{`{"(s)": {"<(a)": x}, b: yy}`, `{s: {a: w}, b: z}`, Skip, "", ""},
		{`{"<(s)": {"(a)": x}, b: yy}`, `{s: {a: w}, b: z}`, Skip, "", ""},
		{`{"<(s)": {"(a)": x}, b: yy}`, `{s: {a: x}, b: z}`, Fail, "/b/", "/b"},
		// a condition whose field is nowhere hides the path, a negation does not
		{`{l: [{"(nn)": a}], t: u}`, `{l: [], t: v}`, Fail, "/t/", "/t"},
		{`{"^(c)": [{a: b}], t: u}`, `{t: v}`, Fail, "", "/t"},
		{`{"^(c)": [{a: b}], "X(t)": "null"}`, `{t: v}`, Fail, "/t/", "/t"},
		{`{"X(c)": "null", t: u}`, `{t: v}`, Fail, "/t/", "/t"},
		{`{l: [{"(nn)": a, m: b}]}`, `{l: [{}, {nn: a, m: c}]}`, Fail, "/l/1/m/", "/l/1/m"},
		// wildcards in anchored keys of labels and annotations
		{`{metadata: {"=(annotations)": {"X(flux/*)": "*?"}}}`, `{metadata: {annotations: {flux/a: "1", flux/b: "2", x: yy}}}`,
			Fail, "/metadata/annotations/flux/a/", "/metadata/annotations/flux~1a /metadata/annotations/flux~1b"},
		{`{metadata: {"=(annotations)": {"X(flux/*)": "*?"}}}`, `{metadata: {annotations: {x: yy}}}`, Pass, "", ""},
		{`{metadata: {"=(annotations)": {"X(flux/*)": "*?"}}}`, `{metadata: {}}`, Pass, "", ""},
		{`{"=(metadata)": {"=(annotations)": {"=(armor/*)": "ok*"}}}`,
			`{metadata: {annotations: {armor/a: ok1, armor/b: ok2}}}`, Pass, "", ""},
		{`{"=(metadata)": {"=(annotations)": {"=(armor/*)": "ok*"}}}`,
			`{metadata: {annotations: {armor/a: ok1, armor/b: bad}}}`, Fail, "/metadata/annotations/armor/b/",
			"/metadata/annotations/armor~1b"},
		{`{metadata: {labels: {"(app*)": x, b: yy}}}`, `{metadata: {labels: {app1: w, app2: x, b: z}}}`, Fail,
			"/metadata/labels/b/", "/metadata/labels/b"},
		{`{metadata: {labels: {"(app*)": x, b: yy}}}`, `{metadata: {labels: {app1: w, b: z}}}`, Skip, "", ""},
		{`{metadata: {labels: {"(app*)": x, b: yy}}}`, `{metadata: {labels: {b: z}}}`, Skip, "", ""},
		{`{metadata: {labels: {"<(app*)": x, b: yy}}}`, `{metadata: {labels: {app1: w, b: z}}}`, Skip, "", ""},
		{`{metadata: {labels: {"<(app*)": x, b: yy}}}`, `{metadata: {labels: {b: z}}}`, Fail, "/metadata/labels/b/",
			"/metadata/labels/b"},
	}, 100)
}

func TestCompileErrors(t *testing.T) {
	deep := any("x")
	for range 200 {
		deep = map[string]any{"a": deep}
	}
	tests := []struct {
		pattern any
		pointer string
	}{
		{map[string]any{"+(a)": "x"}, "/+(a)"},
		{map[string]any{"s": map[string]any{"=(a": "x"}}, "/s/=(a"},
		{map[string]any{"(a": "x"}, "/(a"},
		{map[string]any{"()": "x"}, "/()"},
		{map[string]any{"^()": []any{map[string]any{}}}, "/^()"},
		{map[string]any{"?(a)": "x"}, "/?(a)"},
		{map[string]any{"!(a)": "x"}, "/!(a)"},
		{map[string]any{"^(a)": "x"}, "/^(a)"},
		{map[string]any{"^(a)": []any{}}, "/^(a)"},
		{map[string]any{"^(a)": map[string]any{}}, "/^(a)"},
		{map[string]any{"^(a)": []any{map[string]any{"+(b)": 1}}}, "/^(a)/0/+(b)"},
		{map[string]any{"a/b": map[string]any{"^(c)": nil}}, "/a~1b/^(c)"},
		{map[string]any{"a": []any{"x", map[string]any{"+(b)": 1}}}, "/a/1/+(b)"},
		{map[string]any{"a": uint16(1)}, "/a"},
		{struct{}{}, ""},
	}
	for _, tt := range tests {
		_, err := Compile(tt.pattern)
		var ce *jsonpointer.Error
		if !errors.As(err, &ce) || ce.Pointer != tt.pointer || ce.Message == "" || ce.Error() == "" {
			t.Errorf("Compile(%v) = %#v, want an error at %q", tt.pattern, err, tt.pointer)
		}
	}
	if _, err := Compile(deep); err == nil {
		t.Error("nesting has no limit")
	}
	for _, fine := range []string{`{"f(x)": 1}`, `{"X": 1}`, `{"a(b)c": 1}`, `{"(a)(b)": 1}`, `{")": 1}`} {
		if _, err := Compile(tree(t, fine)); err != nil {
			t.Errorf("Compile(%s): %v", fine, err)
		}
	}
}

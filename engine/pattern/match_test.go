package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func runRows(t *testing.T, rows []row, atLeast int) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.pattern+" / "+tt.resource, func(t *testing.T) {
			got := compile(t, tt.pattern).Match(tree(t, tt.resource))
			if got.Verdict != tt.verdict {
				t.Fatalf("verdict %v, want %v (%+v)", got.Verdict, tt.verdict, got)
			}
			if got.Path != tt.path {
				t.Errorf("path %q, want %q", got.Path, tt.path)
			}
			want := strings.Fields(tt.fields)
			for i, f := range want {
				if f == "-" {
					want[i] = ""
				}
			}
			if !slices.Equal(got.Fields, want) {
				t.Errorf("fields %q, want %q", got.Fields, want)
			}
			if (got.Message == "") != (got.Verdict == Pass) {
				t.Errorf("message %q for %v", got.Message, got.Verdict)
			}
		})
	}
	if len(rows) < atLeast {
		t.Errorf("%d rows, want %d", len(rows), atLeast)
	}
}

func TestMatchOverlays(t *testing.T) {
	runRows(t, []row{
		// the root
		{`{}`, `{}`, Pass, "", ""},
		{`{}`, `{a: 1}`, Pass, "", ""},
		{`{}`, `x`, Fail, "/", "-"},
		{`{}`, `null`, Fail, "/", "-"},
		{`{a: 1}`, `[]`, Fail, "/", "-"},
		{`"nginx:*"`, `nginx:1`, Pass, "", ""},
		{`"nginx:*"`, `redis:1`, Fail, "/", "-"},
		{`"nginx:*"`, `[nginx:1, redis:1]`, Fail, "/", "/1"},
		{`null`, `null`, Pass, "", ""},
		{`5`, `6`, Fail, "/", "-"},
		// plain keys
		{`{a: b}`, `{a: b}`, Pass, "", ""},
		{`{a: b}`, `{a: b, c: d}`, Pass, "", ""},
		{`{a: b}`, `{a: c}`, Fail, "/a/", "/a"},
		{`{a: b}`, `{}`, Fail, "/a/", "/a"},
		{`{a: b}`, `{a: null}`, Fail, "/a/", "/a"},
		{`{a: b}`, `{a: {b: c}}`, Fail, "/a/", "/a"},
		{`{a: b, c: d}`, `{a: x, c: yy}`, Fail, "/a/", "/a /c"},
		{`{c: d, a: b}`, `{}`, Fail, "/a/", "/a /c"},
		{`{a: b, c: d}`, `{a: b, c: yy}`, Fail, "/c/", "/c"},
		// nested maps
		{`{spec: {a: b}}`, `{spec: {a: b}}`, Pass, "", ""},
		{`{spec: {a: b}}`, `{spec: {a: c}}`, Fail, "/spec/a/", "/spec/a"},
		{`{spec: {a: b}}`, `{spec: {}}`, Fail, "/spec/a/", "/spec/a"},
		{`{spec: {a: {b: c}}}`, `{}`, Fail, "/spec/", "/spec"},
		{`{spec: {a: {b: c}}}`, `{spec: x}`, Fail, "/spec/", "/spec"},
		{`{spec: {a: {b: c}}}`, `{spec: [x]}`, Fail, "/spec/", "/spec"},
		{`{spec: {a: {b: c, d: e}}}`, `{spec: {a: {}}}`, Fail, "/spec/a/b/", "/spec/a/b /spec/a/d"},
		{`{spec: {}}`, `{spec: {a: b}}`, Pass, "", ""},
		{`{spec: {}}`, `{}`, Fail, "/spec/", "/spec"},
		{`{a: {x: 1}, b: {x: 1}}`, `{a: {x: 2}, b: {x: 2}}`, Fail, "/a/x/", "/a/x /b/x"},
		// escaping of pointers
		{`{a/b: c}`, `{a/b: d}`, Fail, "/a/b/", "/a~1b"},
		{`{a~b: c}`, `{a~b: d}`, Fail, "/a~b/", "/a~0b"},
		{`{"~1": c}`, `{}`, Fail, "/~1/", "/~01"},
		{`{"": c}`, `{}`, Fail, "//", "/"},
		// the wildcard that asks only for presence
		{`{a: "*"}`, `{a: ""}`, Pass, "", ""},
		{`{a: "*"}`, `{a: {b: c}}`, Pass, "", ""},
		{`{a: "*"}`, `{a: [b]}`, Pass, "", ""},
		{`{a: "*"}`, `{a: []}`, Pass, "", ""},
		{`{a: "*"}`, `{a: 0}`, Pass, "", ""},
		{`{a: "*"}`, `{a: false}`, Pass, "", ""},
		{`{a: "*"}`, `{}`, Fail, "/", "/a"},
		{`{a: "*"}`, `{a: null}`, Fail, "/", "/a"},
		{`{s: {a: "*"}}`, `{s: {}}`, Fail, "/s/", "/s/a"},
		{`{s: {a: "*"}}`, `{}`, Fail, "/s/", "/s"},
		{`{a: "?*"}`, `{a: ""}`, Fail, "/a/", "/a"},
		{`{a: "?*"}`, `{}`, Fail, "/a/", "/a"},
		{`{a: "?*"}`, `{a: {}}`, Fail, "/a/", "/a"},
		{`{a: "?*"}`, `{a: 0}`, Pass, "", ""},
		{`{a: "**"}`, `{a: {}}`, Fail, "/a/", "/a"},
		// null and empty
		{`{a: null}`, `{}`, Pass, "", ""},
		{`{a: null}`, `{a: null}`, Pass, "", ""},
		{`{a: null}`, `{a: ""}`, Pass, "", ""},
		{`{a: null}`, `{a: x}`, Fail, "/a/", "/a"},
		{`{a: null}`, `{a: {}}`, Fail, "/a/", "/a"},
		{`{a: null}`, `{a: []}`, Pass, "", ""},
		{`{a: ""}`, `{}`, Fail, "/a/", "/a"},
		{`{a: ""}`, `{a: null}`, Fail, "/a/", "/a"},
		{`{a: ""}`, `{a: 0}`, Fail, "/a/", "/a"},
		{`{a: ""}`, `{a: {}}`, Fail, "/a/", "/a"},
		{`{a: ""}`, `{a: []}`, Pass, "", ""},
		{`{a: ""}`, `{a: [null]}`, Fail, "/a/", "/a/0"},
		{`{a: "|x"}`, `{}`, Fail, "/a/", "/a"},
		{`{a: [""]}`, `{a: [""]}`, Pass, "", ""},
		{`{a: [""]}`, `{}`, Fail, "/a/", "/a"},
		{`{a: ""}`, `{a: ""}`, Pass, "", ""},
		{`{a: ""}`, `{a: x}`, Fail, "/a/", "/a"},
		{`{a: false}`, `{}`, Fail, "/a/", "/a"},
		{`{a: "false"}`, `{a: false}`, Pass, "", ""},
		{`{a: "!true"}`, `{}`, Fail, "/a/", "/a"},
		{`{a: "<5"}`, `{}`, Pass, "", ""},
		{`{a: ">=2"}`, `{}`, Fail, "/a/", "/a"},
		{`{a: ">=2"}`, `{a: 1}`, Fail, "/a/", "/a"},
		{`{a: ">=2"}`, `{a: 2}`, Pass, "", ""},
		// a leaf against a list: every element
		{`{a: "!x"}`, `{a: [yy, z]}`, Pass, "", ""},
		{`{a: "!x"}`, `{a: [x, yy, x]}`, Fail, "/a/", "/a/0 /a/2"},
		{`{a: "!x"}`, `{a: []}`, Pass, "", ""},
		{`{a: ">1"}`, `{a: [1, 2]}`, Fail, "/a/", "/a/0"},
		{`{a: "x"}`, `{a: [{b: c}, x]}`, Fail, "/a/", "/a/0"},
		{`{a: 5}`, `{a: [5, 6]}`, Fail, "/a/", "/a/1"},
		// a list of leaves: the first is the pattern of every element
		{`{a: ["x*"]}`, `{a: [x1, x2]}`, Pass, "", ""},
		{`{a: ["x*"]}`, `{a: [x1, yy]}`, Fail, "/a/", "/a/1"},
		{`{a: ["x*"]}`, `{a: []}`, Pass, "", ""},
		{`{a: ["x*"]}`, `{a: x1}`, Fail, "/a/", "/a"},
		{`{a: ["x*"]}`, `{}`, Fail, "/a/", "/a"},
		{`{a: ["x*", "yy*"]}`, `{a: [x1, y1]}`, Fail, "/a/", "/a/1"},
		{`{a: ["1-3"]}`, `{a: [1, 2, 4, 5]}`, Fail, "/a/", "/a/2 /a/3"},
		{`{a: [null]}`, `{a: ["", null]}`, Pass, "", ""},
		{`{a: []}`, `{a: []}`, Fail, "/a/", "/a"},
		{`{a: []}`, `{a: [1]}`, Fail, "/a/", "/a"},
		{`{a: []}`, `{}`, Fail, "/a/", "/a"},
		// a list of maps: every element against the first
		{`{c: [{image: "*:*"}]}`, `{c: [{image: a:1}, {image: b:2}]}`, Pass, "", ""},
		{`{c: [{image: "*:*"}]}`, `{c: []}`, Pass, "", ""},
		{`{c: [{image: "*:*"}]}`, `{}`, Fail, "/c/", "/c"},
		{`{c: [{image: "*:*"}]}`, `{c: {image: a:1}}`, Fail, "/c/", "/c"},
		{`{c: [{image: "*:*"}]}`, `{c: [{image: a}, {image: b:1}, {image: c}]}`, Fail, "/c/0/image/",
			"/c/0/image /c/2/image"},
		{`{c: [{image: "*:*"}]}`, `{c: [{image: a:1}, x]}`, Fail, "/c/1/", "/c/1"},
		{`{c: [{image: "*:*"}]}`, `{c: [{image: a:1}, {}]}`, Fail, "/c/1/image/", "/c/1/image"},
		{`{c: [{nn: "*", r: {m: "?*", c: "?*"}}]}`, `{c: [{nn: a, r: {m: 1Gi}}, {nn: b}]}`, Fail, "/c/0/r/c/",
			"/c/0/r/c /c/1/r"},
		{`{c: [{nn: "*"}]}`, `{c: [{x: 1}, {nn: a}]}`, Fail, "/c/0/", "/c/0/nn"},
		{`{c: [{a: 1}, {a: 2}]}`, `{c: [{a: 1}]}`, Pass, "", ""},
		{`{c: [{a: 1}, {a: 2}]}`, `{c: [{a: 1}, {a: 2}]}`, Fail, "/c/1/a/", "/c/1/a"},
		{`{c: [{p: [{q: x}]}]}`, `{c: [{p: [{q: x}, {q: yy}]}, {p: [{q: z}]}]}`, Fail, "/c/0/p/1/q/",
			"/c/0/p/1/q /c/1/p/0/q"},
		// lists of lists, element by element
		{`{a: [[x], [yy]]}`, `{a: [[x, x], [yy]]}`, Pass, "", ""},
		{`{a: [[x], [yy]]}`, `{a: [[x], [x]]}`, Fail, "/a/1/", "/a/1/0"},
		{`{a: [[x], [yy]]}`, `{a: [[x]]}`, Fail, "", "/a"},
		{`{a: [[x], [yy]]}`, `{a: [[x], [yy], [z]]}`, Pass, "", ""},
		{`{a: [[x], [yy]]}`, `{a: x}`, Fail, "/a/", "/a"},
		{`{a: [[x], [yy]]}`, `{a: [[yy], [x]]}`, Fail, "/a/0/", "/a/0/0 /a/1/0"},
		// wildcards in keys: labels and annotations only
		{`{metadata: {labels: {"corp/*": "?*"}}}`, `{metadata: {labels: {corp/team: a}}}`, Pass, "", ""},
		{`{metadata: {labels: {"corp/*": "?*"}}}`, `{metadata: {labels: {corp/team: ""}}}`, Fail,
			"/metadata/labels/corp/team/", "/metadata/labels/corp~1team"},
		{`{metadata: {labels: {"corp/*": "?*"}}}`, `{metadata: {labels: {other: a}}}`, Fail, "/metadata/labels/corp/*/",
			"/metadata/labels"},
		{`{metadata: {labels: {"corp/*": "*"}}}`, `{metadata: {labels: {other: a}}}`, Fail, "/metadata/labels/",
			"/metadata/labels"},
		{`{metadata: {labels: {"corp/*": "*"}}}`, `{metadata: {labels: {corp/a: a}}}`, Pass, "", ""},
		{`{metadata: {labels: {"corp/*": "?*"}}}`, `{metadata: {}}`, Fail, "/metadata/labels/", "/metadata/labels"},
		{`{metadata: {labels: {"corp/*": "a"}}}`, `{metadata: {labels: {corp/x: a, corp/yy: b, corp/z: c}}}`, Fail,
			"/metadata/labels/corp/yy/", "/metadata/labels/corp~1yy /metadata/labels/corp~1z"},
		{`{metadata: {annotations: {"a?c": "x"}}}`, `{metadata: {annotations: {abc: x}}}`, Pass, "", ""},
		{`{metadata: {annotations: {"a?c": "x"}}}`, `{metadata: {annotations: {"a?c": x, abc: yy}}}`, Pass, "", ""},
		{`{spec: {template: {metadata: {labels: {"a*": x}}}}}`, `{spec: {template: {metadata: {labels: {ab: x}}}}}`, Pass, "",
			""},
		{`{spec: {labels: {"a*": x}}}`, `{spec: {labels: {ab: x}}}`, Fail, "/spec/labels/a*/", "/spec/labels/a*"},
		{`{metadata: {finalizers: {"a*": x}}}`, `{metadata: {finalizers: {ab: x}}}`, Fail, "/metadata/finalizers/a*/",
			"/metadata/finalizers/a*"},
	}, 100)
}

// TestMatchMetadata holds what becomes of labels and annotations of a pattern that are no text: Kyverno leaves them out
// wherever the object has the map they are in.
func TestMatchMetadata(t *testing.T) {
	const labelled = `{metadata: {labels: {app: x}}}`
	runRows(t, []row{
		{`{metadata: {labels: {app: null}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {app: 0}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {app: true}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {app: {a: b}}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {app: [yy]}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {app: 0, other: yy}}}`, labelled, Fail, "/metadata/labels/other/", "/metadata/labels/other"},
		{`{metadata: {labels: {app: 0}}}`, `{metadata: {labels: {}}}`, Pass, "", ""},
		{`{metadata: {labels: {"X(app)": null}}}`, labelled, Pass, "", ""},
		{`{metadata: {labels: {"X(app)": "null"}}}`, labelled, Fail, "/metadata/labels/app/", "/metadata/labels/app"},
		// an anchor that is left out is no condition
		{`{metadata: {"(annotations)": {ttl: 0}}, spec: {a: b}}`, `{metadata: {annotations: {ttl: "5"}}, spec: {a: x}}`, Fail,
			"/spec/a/", "/spec/a"},
		{`{metadata: {"(annotations)": {ttl: 0}}, spec: {a: b}}`, `{metadata: {}, spec: {a: x}}`, Skip, "", ""},
		{`{metadata: {annotations: {"(ttl)": 0}}, spec: {a: b}}`, `{metadata: {annotations: {ttl: "5"}}, spec: {a: x}}`, Fail,
			"/spec/a/", "/spec/a"},
		{`{"=(metadata)": {"=(annotations)": {"(ttl)": 0, a: b}}}`, `{metadata: {annotations: {a: x}}}`, Fail,
			"/metadata/annotations/a/", "/metadata/annotations/a"},
		{`{"<(metadata)": {labels: {app: 1}}, spec: {a: b}}`, `{metadata: {labels: {app: x}}, spec: {a: x}}`, Fail, "/spec/a/",
			"/spec/a"},
		// only where the object has the map, of the two
		{`{metadata: {labels: {app: 0}}}`, `{metadata: {}}`, Fail, "/metadata/labels/", "/metadata/labels"},
		{`{metadata: {labels: {app: 0}}}`, `{metadata: {labels: null}}`, Fail, "/metadata/labels/", "/metadata/labels"},
		{`{metadata: {labels: {app: 0}}}`, `{metadata: {labels: [a]}}`, Fail, "/metadata/labels/", "/metadata/labels"},
		{`{metadata: {labels: {app: 0}}}`, `{}`, Fail, "/metadata/", "/metadata"},
		{`{metadata: {labels: {app: 0}, annotations: {a: 0}}}`, `{metadata: {labels: {app: x}}}`, Fail,
			"/metadata/annotations/", "/metadata/annotations"},
		{`{metadata: {labels: {app: 0}, annotations: {a: 0}}}`, `{metadata: {labels: {app: x}, annotations: {a: "1"}}}`, Pass,
			"", ""},
		// in every metadata, and nowhere else
		{`{spec: {template: {metadata: {labels: {app: 0}}}}}`, `{spec: {template: {metadata: {labels: {app: x}}}}}`, Pass, "",
			""},
		{`{l: [{metadata: {labels: {app: 0}}}]}`, `{l: [{metadata: {labels: {app: x}}}]}`, Pass, "", ""},
		{`{spec: {selector: {matchLabels: {app: 0}}}}`, `{spec: {selector: {matchLabels: {app: x}}}}`, Fail,
			"/spec/selector/matchLabels/app/", "/spec/selector/matchLabels/app"},
		{`{spec: {labels: {app: 0}}}`, `{spec: {labels: {app: x}}}`, Fail, "/spec/labels/app/", "/spec/labels/app"},
		// what is left out has no say in the order of the keys either: aaa with its condition comes first
		{`{aaa: {"(c)": d}, metadata: {labels: {"(ttl)": 0, app: yy}}}`, `{aaa: {c: x}, metadata: {labels: {app: x}}}`, Skip,
			"", ""},
		{`{aaa: {"(c)": d}, metadata: {labels: {"(ttl)": "0", app: yy}}}`,
			`{aaa: {c: x}, metadata: {labels: {ttl: "0", app: x}}}`, Fail, "/metadata/labels/app/", "/metadata/labels/app"},
		// keys with wildcards stand for keys whose value is text
		{`{metadata: {labels: {"a*": "?*"}}}`, `{metadata: {labels: {ab: 0}}}`, Fail, "/metadata/labels/a*/",
			"/metadata/labels"},
		{`{metadata: {labels: {"X(a*)": "*"}}}`, `{metadata: {labels: {ab: 0}}}`, Pass, "", ""},
		{`{metadata: {labels: {"X(a*)": "*"}}}`, `{metadata: {labels: {ab: "0"}}}`, Fail, "/metadata/labels/ab/",
			"/metadata/labels/ab"},
		{`{metadata: {labels: {"a*": 0}}}`, `{metadata: {labels: {ab: "1"}}}`, Pass, "", ""},
	}, 30)
}

func TestMessages(t *testing.T) {
	tests := []struct{ pattern, resource, message string }{
		{`{a: b}`, `{a: c}`, "resource value 'c' does not match 'b' at path /a/"},
		{`{a: b}`, `{}`, "resource value '<nil>' does not match 'b' at path /a/"},
		{`{a: "*"}`, `{}`, "//a not found"},
		{`{"(a)": b}`, `{a: c}`, "conditional anchor mismatch: resource value 'c' does not match 'b' at path /a/"},
		{`{"(a)": {"(b)": c}}`, `{a: {b: x}}`,
			"conditional anchor mismatch: conditional anchor mismatch: resource value 'x' does not match 'c' at path /a/b/"},
		{`{"(a)": b}`, `{}`, "conditional anchor mismatch: conditional anchor key doesn't exist in the resource"},
		{`{"<(a)": b}`, `{a: c}`, "global anchor mismatch: resource value 'c' does not match 'b' at path /a/"},
		{`{"X(a)": "null"}`, `{a: c}`, "negation anchor matched in resource: /a/ is not allowed"},
		{`{"^(a)": [{b: c}]}`, `{a: []}`, "existence anchor validation failed at path /a/"},
		{`{l: [{"(a)": b, c: d}]}`, `{l: [{a: x}, {}]}`,
			"conditional anchor mismatch: resource value 'x' does not match 'b' at path /l/0/a/; conditional anchor mismatch: " +
				"conditional anchor key doesn't exist in the resource"},
		{`{a: b}`, fmt.Sprintf("{a: %s}", strings.Repeat("x", 300)), "resource value '" + strings.Repeat("x", 200) +
			"…' does not match 'b' at path /a/"},
	}
	for _, tt := range tests {
		if got := compile(t, tt.pattern).Match(tree(t, tt.resource)); got.Message != tt.message {
			t.Errorf("%s / %s:\n got %s\nwant %s", tt.pattern, tt.resource, got.Message, tt.message)
		}
	}
}

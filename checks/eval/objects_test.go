package eval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/admission"
)

var quickDocuments = map[string]string{
	"nested":   "a:\n  b:\n    c: d\n  e: f\nkind: X\n",
	"list":     "kind: X\nspec:\n- a\n- b: c\n  d: e\n-\n  f: g\n- h:\n  - i\n",
	"indented": "kind: X\nspec:\n  - a\n  -   b: c\n      d: e\n",
	"scalars": "kind: X\na: 1\nb: 0\nc: true\nd: \"1\"\ne: 'it'\nf: 500m\ng: 1.2.3\nh: 0.5\ni: -1\nj: 0x10\nk: " +
		"1e3\nl: ~\nm: null\nnn: yes\no: 010\np: .5\nq: 2001-01-01\nr: 12345678901234567890\ns: 1_000\nt: 1:30\nu: No\nv: " +
		"NULL\nw: 1.0\nx: +5\nz: 10.0.0.1\naa: 12ab\nab: 0b11\nac: 1e\nad: --b=1\nae: -.5\naf: -.inf1\nag: " +
		"2001-01-01T00:00:00Z\nah: -x\nai: 0o17\naj: 0xfg\nak: 1_0.5e3\n",
	"empty":    "kind: X\na:\nb: {}\nc: []\nd: \"\"\ne: ''\n",
	"comments": "# first\nkind: X # which\n# between\na: # nothing\n  # deep\n  b: \"c\" # d\n  e: f#g\n",
	"literal": "kind: X\na: |\n  one\n    two\n\n  three # no comment\n\nb: |-\n  four\n# comment\nc: d\nl:\n- |\n  " +
		"five\n- e: |\n    six\n",
	"literal end": "kind: X\na: |\n  one\n  two\n\n\n",
	"marker":      "---\nkind: X\na: b\n",
	"note":        "--- # Source: a/b.yaml\nkind: X\n",
	"keys":        "kind: X\na.b/c-d_e: 1\n\"quoted key\": 2\n'8080': 3\n\"true\": 4\n",
	"colons":      "kind: X\nurl: http://a:80/b\nargs:\n- --a=b:c\n- http://x\n- key:value\n",
	"spaces":      "kind: X   \na:    b   \nc:   \n  d: e  \n",
	"no end":      "kind: X\na: b",
	"nothing":     "# only a comment\n\n",
}

// The fast parser supports these documents, and gives the same result as the YAML parser.
func TestFastParserReadsTheStyleOfTools(t *testing.T) {
	for name, text := range quickDocuments {
		t.Run(name, func(t *testing.T) {
			if _, ok := quick(text); !ok {
				t.Fatal("left to the parser")
			}
			compareReadings(t, text)
		})
	}
}

// otherDocuments are documents that the fast parser must leave to the YAML parser.
var otherDocuments = map[string]string{
	"flow":          "kind: X\na: [b, c]\nd: {e: f}\n",
	"anchor":        "kind: X\na: &x b\nc: *x\n",
	"merge":         "kind: X\na: &x {b: c}\nd:\n  <<: *x\n",
	"folded":        "kind: X\na: >\n  b\n  c\n",
	"keep":          "kind: X\na: |+\n  b\n\nc: d\n",
	"indicator":     "kind: X\na: |2\n   b\n",
	"continued":     "kind: X\na: b\n  c\n",
	"twice":         "kind: X\na: b\na: c\n",
	"tag":           "kind: X\na: !!str 1\n",
	"escape":        "kind: X\na: \"b\\n\"\n",
	"two quotes":    "kind: X\na: 'b''c'\n",
	"long quote":    "kind: X\na: \"b\n  c\"\n",
	"key of number": "kind: X\n1: a\n",
	"key of bool":   "kind: X\ny: a\nNo: b\n",
	"no space":      "kind: X\na:b\n",
	"tab":           "kind: X\na:\tb\n",
	"returns":       "kind: X\r\na: b\r\n",
	"other script":  "kind: X\na: ü\n",
	"bad indent":    "kind: X\na:\n    b: c\n  d: e\n",
	"two colons":    "kind: X\na: b: c\n",
	"json":          "{\"kind\": \"X\"}\n",
	"a list":        "- a\n",
	"nested dashes": "kind: X\na:\n- - b\n",
	"control":       "kind: X\na: \x01\n",
	"literal, none": "kind: X\na: |\nb: c\n",
	"no line end":   "kind: X\na: |\n  b",
	"question":      "kind: X\n? a\n: b\n",
	"not a number":  "kind: X\na: .nan\n",
	"at":            "kind: X\na: @b\n",
	"no marker":     "---#000\nA:",
}

func TestFastParserLeavesOtherDocuments(t *testing.T) {
	for name, text := range otherDocuments {
		t.Run(name, func(t *testing.T) {
			if o, ok := quick(text); ok {
				t.Fatalf("read as %v", o)
			}
			compareReadings(t, text)
		})
	}
}

// compareReadings parses a file with both parsers.
func compareReadings(t testing.TB, text string) {
	t.Helper()
	src := rules.File{Path: "x.yaml", Data: []byte(text)}
	docs, wantProblems := src.Documents()
	var want []admission.Object
	for _, d := range docs {
		if o, ok := d.Value().(map[string]any); ok {
			want = append(want, o)
		}
	}
	got, gotProblems := allObjects(src)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotProblems, wantProblems) {
		t.Errorf("%q\nread as  %v, problems %v\nthe parser says %v, problems %v", text, got, gotProblems, want, wantProblems)
	}
	var again []admission.Object
	for part, problem := range objects(src) {
		if problem != nil {
			continue
		}
		again = append(again, part.Object)
		d, ok := part.document()
		if !ok || !reflect.DeepEqual(d.Value(), any(part.Object)) {
			t.Errorf("%q\nthe part of %v holds %v", text, part.Object, d.Value())
		}
		if lines := strings.Split(text, "\n"); !strings.HasPrefix(strings.Join(lines[part.part.line:], "\n"), part.part.text) {
			t.Errorf("%q: %q is not at line %d", text, part.part.text, part.part.line)
		}
	}
	if !reflect.DeepEqual(again, want) {
		t.Errorf("%q\nhas parts %v, want %v", text, again, want)
	}
}

func TestStream(t *testing.T) {
	var all []string
	for _, text := range quickDocuments {
		all = append(all, strings.TrimPrefix(text, "---\n"))
	}
	for _, text := range []string{
		strings.Join(all[:3], "---\n"),
		"kind: A\n---\nkind: B\na: [\n---\nkind: C\n---\n\n---\n--- # note\nkind: D\n",
		"---\n---\nkind: A\n----\n",
		"kind: A\n...\n---\nkind: B\n",
		"%YAML 1.1\n---\nkind: A\n",
		"kind: PodList\nitems:\n- kind: Pod\n  a: b\n- kind: PodList\n  items:\n  - kind: Pod\n- c\n",
		"kind: A\na: |\n  b\n---\nkind: B\n",
		"kind: A\n--- kind\n",
		"\n\n\nkind: A\nb: *c\n",
		"# note\n---\n---\nkind: A\n",
		"# note\n---\n--- # note\nkind: A\n",
		"%YAML 1.1\n---\n---\nkind: A\n",
	} {
		compareReadings(t, text)
	}
}

// The line of an error in a large file is correct.
func TestProblemLine(t *testing.T) {
	text := strings.Repeat("kind: A\na: b\n---\n", 10) + "kind: B\na: [\n"
	objects, problems := allObjects(rules.File{Path: "x.yaml", Data: []byte(text)})
	if len(objects) != 10 || len(problems) != 1 || problems[0].Line < 31 || problems[0].Line > 32 {
		t.Errorf("%d objects, problems %v", len(objects), problems)
	}
}

// Both parsers give the same result for manifests of public projects.
func TestPublicManifests(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "conformance")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the conformance cases are not here")
	}
	files := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".yaml" && filepath.Ext(p) != ".yml" {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files++
		compareReadings(t, string(data))
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}

func FuzzObjects(f *testing.F) {
	for _, m := range []map[string]string{quickDocuments, otherDocuments} {
		for _, text := range m {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<12 {
			compareReadings(t, text)
		}
	})
}

// The time for a file that only the YAML parser supports is linear, and lines are those of the file.
func TestManyDocuments(t *testing.T) {
	const n = 10_000
	text := strings.Repeat("---\n{kind: A, b: {c: d}}\n", n) + "---\nkind: [\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	objects, problems := allObjects(rules.File{Path: "a.yaml", Data: []byte(text)})
	runtime.ReadMemStats(&after)
	if len(objects) != n || len(problems) != 1 || problems[0].Line < 2*n+2 || problems[0].Line > 2*n+3 {
		t.Errorf("%d objects, %v", len(objects), problems)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 20_000 {
		t.Errorf("%d bytes for each document of %d", each, len(text)/n)
	}
}

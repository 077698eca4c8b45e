package fetch

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestFind(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	block := "apiVersion: v1\ngenerated: now\nentries:\n  other:\n  - name: other\n    version: 9.0.0\n    urls:\n    - " +
		"o.tgz\n" +
		"  a:\n  - name: a\n    version: 1.0.0\n    description: |\n      text\n      - more: x\n\n      end\n    digest: " +
		digest +
		"\n    urls:\n    - a-1.tgz\n    - second\n  # a comment\n  - apiVersion: v2\n    name: a\n    version: 1.1.0\n    " +
		"urls: [a-2.tgz]\n" +
		"  - name: a/b\n    version: 5.0.0\n    urls: [x]\n  - name: a\n    version: none\n    urls: [x]\n" +
		"  - name: a\n    version: 6.0.0\n    type: odd\n    urls: [x]\n" +
		"  b:\n    - name: b\n      version: v2.0.0\n      urls:\n        - b.tgz\n  empty: \n\nserverInfo: {}\n"
	var any map[string]any
	if err := yaml.Unmarshal([]byte(block), &any); err != nil {
		t.Fatal(err)
	}
	json := `{"apiVersion":"v1","entries":{"a":[{"name":"a","version":"1.0.0","urls":["a-1.tgz"],"digest":"` + digest +
		`"},{"name":"a","version":"1.1.0","urls":["a-2.tgz"],"extra":{"x":[1]}}],` +
		`"b":[{"name":"b","version":"v2.0.0","urls":["b.tgz"]}]}}`
	flow := strings.ReplaceAll(json, `"apiVersion"`, "# odd\n\"apiVersion\"")
	for form, index := range map[string]string{"block": block, "crlf": strings.ReplaceAll(block, "\n", "\r\n"),
		"json": json, "flow": flow, "bom": "\xef\xbb\xbf---\n" + block} {
		for _, c := range []struct{ name, ref, version, url string }{
			{"a", "", "1.1.0", "a-2.tgz"}, {"a", "1.0.0", "1.0.0", "a-1.tgz"}, {"a", "~1.0", "1.0.0", "a-1.tgz"},
			{"b", "2", "v2.0.0", "b.tgz"}, {"b", "v2.0.0", "v2.0.0", "b.tgz"}, {"b", "2.0.0", "v2.0.0", "b.tgz"},
		} {
			v, err := findVersion([]byte(index), c.name, c.ref)
			if err != nil || v.Version != c.version || v.URLs[0] != c.url ||
				(c.version == "1.0.0") != (v.Digest == "sha256:"+digest) {
				t.Errorf("%s: %s %q: %+v, %v", form, c.name, c.ref, v, err)
			}
		}
		for _, c := range [][2]string{{"absent", ""}, {"a", "3.x"}, {"a", "none"}, {"a", "6.0.0"}, {"entries", ""}} {
			if v, err := findVersion([]byte(index), c[0], c[1]); err == nil || !failureOf(err).Broken {
				t.Errorf("%s: %v: %+v, %v", form, c, v, err)
			}
		}
	}
}

func TestNoIndex(t *testing.T) {
	aliases := "apiVersion: v1\nentries:\n  a:\n  - &a\n    name: a\n    version: 1.0.0\n    urls: &u [x]\n  - name: " +
		"a\n    version: 2.0.0\n    urls: *u\n"
	bomb := "apiVersion: v1\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i), 9),
			", "))
	}
	bomb += "entries:\n  a: *x12\n"
	for name, c := range map[string]struct {
		index  string
		broken bool
	}{
		"nothing": {"", true}, "a page": {"<!DOCTYPE html>\n<html>\n</html>\n", true}, "no version": {"entries:\n  a: []\n",
			true},
		"aliases": {aliases, false}, "bomb": {bomb, false}, "a list": {"- a\n", true}, "binary": {"\x00\x01\x02", true},
		"twice":    {"apiVersion: v1\nentries:\n  a:\n  - name: a\n  a:\n  - name: a\n", true},
		"odd":      {"apiVersion: v1\nentries: {\n" + strings.Repeat("#\n", 3<<20) + "}\n", false},
		"endless":  {"apiVersion: v1\nentries:\n  a:\n  - name: a\n    x:" + strings.Repeat(" y", 1<<20) + "\n", false},
		"deep":     {"apiVersion: v1\nentries:\n  a:\n  - " + strings.Repeat("[", 100_000) + "\n", true},
		"bad json": {`{"apiVersion":"v1","entries":{"a":`, true},
	} {
		v, err := findVersion([]byte(c.index), "a", "")
		if f := failureOf(err); f == nil || f.Broken != c.broken {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// Reading an index of the maximum size takes little more memory than the index itself.
func BenchmarkFind(b *testing.B) {
	var s strings.Builder
	s.WriteString("apiVersion: v1\nentries:\n")
	for i := range 200 {
		fmt.Fprintf(&s, "  chart%d:\n", i)
		for v := range 300 {
			fmt.Fprintf(&s, "  - apiVersion: v2\n    name: chart%d\n    version: 1.0.%d\n    description: something long "+
				"enough to "+
				"count\n    urls:\n    - https://example.com/chart%d-1.0.%d.tgz\n    digest: %064d\n", i, v, i, v, v)
		}
	}
	index := []byte(s.String())
	b.SetBytes(int64(len(index)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := findVersion(index, "chart100", "1.0.x"); err != nil {
			b.Fatal(err)
		}
	}
}

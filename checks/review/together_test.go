package review

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Suggestions of several findings are written in one edit. Contradicting suggestions are not written at all.
func TestSuggestionsAreWrittenTogether(t *testing.T) {
	const text = `spec:
  replicas: 1 # one
  image: "a:1"
  limits: {cpu: 1}
  ports:
  - 80
  - 81
  - 82
  values: |
    # how many
    size: 2
    deep:
      er: 1
none:
nill: ~
`
	at := func(line, column, end int, missing string) *report.Origin {
		return &report.Origin{StartLine: line, EndLine: line, StartColumn: column, EndColumn: end, Missing: missing}
	}
	set := func(line, column, end int, was, now string) Wish {
		return Wish{at(line, column, end, ""), "", &report.Suggestion{Was: was, YAML: now}}
	}
	add := func(line, column, end int, missing, now string) Wish {
		return Wish{at(line, column, end, missing), "", &report.Suggestion{YAML: now}}
	}
	remove := func(line, column, end int) Wish {
		return Wish{at(line, column, end, ""), "", &report.Suggestion{Remove: true}}
	}
	whole := func(path ...string) Wish {
		o := at(9, 0, 0, "/"+strings.Join(path, "/"))
		o.EndLine, o.Set = 13, path
		return Wish{o, "", &report.Suggestion{YAML: "1"}}
	}
	replicas := func(now string) Wish { return set(2, 13, 14, "1", now) }
	for name, c := range map[string]struct {
		wishes []Wish
		want   []string
	}{
		"on different lines": {[]Wish{replicas("3"), set(3, 10, 15, "a:1", "a:2")}, []string{"[0] 2 -  replicas: 1 # one|+  replicas: 3 # one",
			`[1] 3 -  image: "a:1"|+  image: "a:2"`}},
		"identical":     {[]Wish{replicas("3"), replicas("3")}, []string{"[0 1] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"contradicting": {[]Wish{replicas("3"), set(3, 10, 15, "a:1", "a:2"), replicas("31")}, []string{"[0 2] against", `[1] 3 -  image: "a:1"|+  image: "a:2"`}},
		"below one missing key": {[]Wish{add(1, 1, 5, "/sec/a", "1"), add(1, 1, 5, "/sec/b/c", "2"), add(1, 1, 5, "/sec/b/d", "3")},
			[]string{"[0 1 2] 2  spec:|+  sec:|+    a: 1|+    b:|+      c: 2|+      d: 3"}},
		"contradicting below one missing key, with another value beside": {[]Wish{add(1, 1, 5, "/sec/a", "1"), add(1, 1, 5, "/sec/a", "2"),
			add(1, 1, 5, "/sec/b", "3")}, []string{"[0 1] against", "[2] 2  spec:|+  sec:|+    b: 3"}},
		"several keys": {[]Wish{add(1, 1, 5, "/a", "1"), add(1, 1, 5, "/b", "2")}, []string{"[0 1] 2  spec:|+  a: 1|+  b: 2"}},
		"in braces": {[]Wish{add(4, 3, 9, "/memory", "1Gi"), add(4, 3, 9, "/gpu", "0"), set(4, 17, 18, "1", "2")},
			[]string{"[0 1 2] 4 -  limits: {cpu: 1}|+  limits: {cpu: 2, memory: 1Gi, gpu: 0}"}},
		"removed elements": {[]Wish{remove(6, 5, 7), remove(8, 5, 7), set(7, 5, 7, "81", "83")},
			[]string{"[0 1 2] 6 -  - 80|-  - 81|-  - 82|+  - 83"}},
		"all elements removed": {[]Wish{remove(6, 5, 7), remove(8, 5, 7), remove(7, 5, 7), replicas("3")},
			[]string{"[0 1 2] 5 -  ports:|-  - 80|-  - 81|-  - 82|+  ports: []", "[3] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"some cannot be written": {[]Wish{replicas("3"), set(3, 10, 15, "other", "x"), add(99, 1, 2, "/a", "1")},
			[]string{"[0] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"in a block scalar": {[]Wish{set(11, 11, 12, "2", "3"), add(12, 5, 9, "/x", "1"), whole("a"), whole("b"), replicas("3")},
			[]string{"[0] 11 -    size: 2|+    size: 3", "[1] 14        er: 1|+      x: 1",
				"[2 3] 12      size: 2|+    a: 1|+    b: 1", "[4] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"below a key without a value": {[]Wish{
			{at(14, 0, 0, ""), "/none", &report.Suggestion{Field: "/none", YAML: "a: 1"}},
			{at(14, 0, 0, ""), "/none", &report.Suggestion{Field: "/none", YAML: "b: 1\nc: 2"}},
		}, []string{"[0 1] 15  none:|+  a: 1|+  b: 1|+  c: 2"}},
		"in the place of null": {[]Wish{
			{at(15, 7, 8, ""), "/nill", &report.Suggestion{Field: "/nill", YAML: "a: 1"}},
			{at(15, 7, 8, ""), "/nill", &report.Suggestion{Field: "/nill", YAML: "b: 1\nc: 2"}},
		}, []string{"[0] 15 -nill: ~|+nill: {a: 1}"}},
		"contradicting in a block scalar": {[]Wish{set(11, 11, 12, "2", "3"), set(11, 11, 12, "2", "4")}, []string{"[0 1] against"}},
	} {
		var got []string
		for _, j := range LinesOf([]byte(text)).Together(c.wishes) {
			words := "against"
			if j.Diff != nil {
				words = fmt.Sprint(j.Diff.Line, " ", strings.Join(j.Diff.Lines(), "|"))
			}
			got = append(got, fmt.Sprint(j.Of, " ", words))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

func TestFileThatIsNoYAMLGetsNoEdits(t *testing.T) {
	if got := LinesOf([]byte("a: [")).Together([]Wish{{&report.Origin{StartLine: 1}, "", &report.Suggestion{}}}); got != nil {
		t.Errorf("%v", got)
	}
}

// After the edits for any set of findings, the file has the content that each finding suggests.
func TestEditsWriteWhatEachFindingSuggests(t *testing.T) {
	const text = `spec:
  replicas: 1 # one
  limits: {cpu: 1, gpu: 2}
  ports:
  - 80
  - 81 # tls
  deep:
    # nothing else
    er: {}
  list:
  - name: a
    image: "a:1"
  - name: b
`
	type asked struct {
		line, column, end int
		missing, pointer  string
		was, now          string
		remove            bool
	}
	all := []asked{
		{line: 2, column: 13, end: 14, pointer: "/spec/replicas", was: "1", now: "3"},
		{line: 3, column: 17, end: 18, pointer: "/spec/limits/cpu", was: "1", now: "4"},
		{line: 3, column: 3, end: 9, missing: "/memory", pointer: "/spec/limits/memory", now: "1Gi"},
		{line: 3, column: 3, end: 9, missing: "/disk/size", pointer: "/spec/limits/disk/size", now: "9"},
		{line: 5, column: 5, end: 7, pointer: "/spec/ports/0", remove: true},
		{line: 6, column: 5, end: 7, pointer: "/spec/ports/1", was: "81", now: "82"},
		{line: 1, column: 1, end: 5, missing: "/sec/a", pointer: "/spec/sec/a", now: "true"},
		{line: 1, column: 1, end: 5, missing: "/sec/b/c", pointer: "/spec/sec/b/c", now: "[x]"},
		{line: 7, column: 3, end: 7, missing: "/new", pointer: "/spec/deep/new", now: "1"},
		{line: 9, column: 5, end: 7, missing: "/x", pointer: "/spec/deep/er/x", now: "1"},
		{line: 12, column: 12, end: 17, pointer: "/spec/list/0/image", was: "a:1", now: "a:2"},
		{line: 11, column: 5, end: 9, missing: "/image2", pointer: "/spec/list/0/image2", now: "c"},
		{line: 13, column: 5, end: 9, missing: "/image", pointer: "/spec/list/1/image", now: "b"},
		{line: 13, column: 5, end: 9, missing: "/pull", pointer: "/spec/list/1/pull", now: "Always"},
	}
	check := func(list ...asked) {
		t.Helper()
		var wishes []Wish
		gone := 0
		for _, a := range list {
			wishes = append(wishes, Wish{&report.Origin{StartLine: a.line, EndLine: a.line, StartColumn: a.column, EndColumn: a.end,
				Missing: a.missing}, "", &report.Suggestion{Was: a.was, YAML: a.now, Remove: a.remove}})
			if a.remove {
				gone++
			}
		}
		joints := LinesOf([]byte(text)).Together(wishes)
		slices.SortFunc(joints, func(a, b Joint) int { return b.Diff.Line - a.Diff.Line })
		lines, made := strings.Split(text, "\n"), 0
		for _, j := range joints {
			lines = slices.Replace(lines, j.Diff.Line-1, j.Diff.Line-1+len(j.Diff.Removed), j.Diff.Added...)
			made += len(j.Of)
		}
		now := strings.Join(lines, "\n")
		var got any
		if err := yaml.Unmarshal([]byte(now), &got); err != nil || made != len(list) {
			t.Errorf("%d of %+v are made, %v:\n%s", made, list, err, now)
			return
		}
		for _, a := range list {
			if a.remove {
				continue
			}
			pointer := a.pointer
			if pointer == "/spec/ports/1" && gone > 0 {
				pointer = "/spec/ports/0"
			}
			var want any
			if err := yaml.Unmarshal([]byte(a.now), &want); err != nil {
				t.Fatal(err)
			}
			if have := jsonpointer.At(got, pointer); !reflect.DeepEqual(have, want) {
				t.Errorf("%s is %v, want %v:\n%s", a.pointer, have, want, now)
			}
		}
		if ports, _ := jsonpointer.At(got, "/spec/ports").([]any); len(ports) != 2-gone {
			t.Errorf("%v are the ports:\n%s", ports, now)
		}
		if strings.Count(now, "#") != strings.Count(text, "#") {
			t.Errorf("a comment is lost:\n%s", now)
		}
	}
	for i, a := range all {
		check(a)
		for k, b := range all[:i] {
			check(a, b)
			for _, c := range all[:k] {
				check(c, a, b)
			}
		}
	}
	check(all...)
}

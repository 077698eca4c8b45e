package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// What several findings suggest is written together where they do not contradict each other, and then not at all.
func TestTogether(t *testing.T) {
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
		"apart": {[]Wish{replicas("3"), set(3, 10, 15, "a:1", "a:2")}, []string{"[0] 2 -  replicas: 1 # one|+  replicas: 3 # one",
			`[1] 3 -  image: "a:1"|+  image: "a:2"`}},
		"the same": {[]Wish{replicas("3"), replicas("3")}, []string{"[0 1] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"against":  {[]Wish{replicas("3"), set(3, 10, 15, "a:1", "a:2"), replicas("31")}, []string{"[0 2] against", `[1] 3 -  image: "a:1"|+  image: "a:2"`}},
		"below one missing key": {[]Wish{add(1, 1, 5, "/sec/a", "1"), add(1, 1, 5, "/sec/b/c", "2"), add(1, 1, 5, "/sec/b/d", "3")},
			[]string{"[0 1 2] 2  spec:|+  sec:|+    a: 1|+    b:|+      c: 2|+      d: 3"}},
		"against below one, and one beside": {[]Wish{add(1, 1, 5, "/sec/a", "1"), add(1, 1, 5, "/sec/a", "2"),
			add(1, 1, 5, "/sec/b", "3")}, []string{"[0 1] against", "[2] 2  spec:|+  sec:|+    b: 3"}},
		"several keys": {[]Wish{add(1, 1, 5, "/a", "1"), add(1, 1, 5, "/b", "2")}, []string{"[0 1] 2  spec:|+  a: 1|+  b: 2"}},
		"in braces": {[]Wish{add(4, 3, 9, "/memory", "1Gi"), add(4, 3, 9, "/gpu", "0"), set(4, 17, 18, "1", "2")},
			[]string{"[0 1 2] 4 -  limits: {cpu: 1}|+  limits: {cpu: 2, memory: 1Gi, gpu: 0}"}},
		"elements": {[]Wish{remove(6, 5, 7), remove(8, 5, 7), set(7, 5, 7, "81", "83")},
			[]string{"[0] 6 -  - 80", "[1] 8 -  - 82", "[2] 7 -  - 81|+  - 83"}},
		"what cannot be written": {[]Wish{replicas("3"), set(3, 10, 15, "other", "x"), add(99, 1, 2, "/a", "1")},
			[]string{"[0] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"in a text": {[]Wish{set(11, 11, 12, "2", "3"), add(12, 5, 9, "/x", "1"), whole("a"), whole("b"), replicas("3")},
			[]string{"[0] 11 -    size: 2|+    size: 3", "[1] 14        er: 1|+      x: 1",
				"[2 3] 12      size: 2|+    a: 1|+    b: 1", "[4] 2 -  replicas: 1 # one|+  replicas: 3 # one"}},
		"against in a text": {[]Wish{set(11, 11, 12, "2", "3"), set(11, 11, 12, "2", "4")}, []string{"[0 1] against"}},
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

func TestTogetherOfNoYAML(t *testing.T) {
	if got := LinesOf([]byte("a: [")).Together([]Wish{{&report.Origin{StartLine: 1}, "", &report.Suggestion{}}}); got != nil {
		t.Errorf("%v", got)
	}
}

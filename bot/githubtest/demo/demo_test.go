package main

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

const patch = "spec:\n  securityContext:\n    privileged: true\n  image: web:latest\n  replicas: 2\n  paused: " +
	"false\n  more: 1\n"

func column(n int) *int { return &n }

func posted() githubtest.Run {
	return githubtest.Run{Name: "lintel", HeadSHA: strings.Repeat("a", 40), Conclusion: "failure", Title: "2 findings",
		Summary: "What to do.", Annotations: []githubtest.Annotation{
			{Path: "p.yaml", StartLine: 4, EndLine: 4, Level: "failure", Title: "disallow-latest-tag",
				Message: "name a version\nplease"},
			{Path: "p.yaml", StartLine: 3, EndLine: 3, StartColumn: column(17), EndColumn: column(20), Level: "failure",
				Title: "disallow-privileged", Message: "not privileged"},
		}}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	printer{out: &out}.checkRun(posted(), "o/r #1", func(string) []string { return strings.Split(patch, "\n") })
	rule := strings.Repeat("─", 100)
	want := "\n" + rule + `
✗  lintel: failure  o/r #1, commit aaaaaaa
   2 findings
` + rule + `

What to do.

Annotations (2)

  p.yaml
     1 │ spec:
     2 │   securityContext:
     3 │     privileged: true
       │                 ^^^^
       │ ✗ disallow-privileged
       │   not privileged
     4 │   image: web:latest
       │ ✗ disallow-latest-tag
       │   name a version
       │   please
     5 │   replicas: 2
     6 │   paused: false
` + rule + "\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestPrintOutsideOfFile(t *testing.T) {
	var out strings.Builder
	odd := posted()
	odd.Annotations[0].StartLine, odd.Annotations[0].EndLine = 900, 901
	printer{out: &out, color: true}.checkRun(odd, "o/r #1", func(string) []string { return nil })
	if !strings.Contains(out.String(), "name a version") {
		t.Errorf("an annotation is not shown:\n%s", out.String())
	}
}

func TestVerify(t *testing.T) {
	files := map[string]string{"p.yaml": patch}
	if err := verify(posted(), files, nil); err != nil {
		t.Errorf("the expected run: %v", err)
	}
	for want, change := range map[string]func(*githubtest.Run){
		"conclusion is neutral":  func(r *githubtest.Run) { r.Conclusion = "neutral" },
		"no annotation is about": func(r *githubtest.Run) { r.Annotations = r.Annotations[:1] },
		"not the line that breaks it": func(r *githubtest.Run) {
			r.Annotations[0].StartLine, r.Annotations[0].EndLine = 5,
				5
		},
		"does not touch":               func(r *githubtest.Run) { r.Annotations[0].Path = "base.yaml" },
		"none of the broken policies:": func(r *githubtest.Run) { r.Annotations[0].Title = "something else" },
	} {
		r := posted()
		change(&r)
		if err := verify(r, files, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if verify(posted(), files, []githubtest.Violation{{Severity: "error"}}) == nil {
		t.Error("a violation passes")
	}
}

// The Markdown of a check run is shown as plain text.
func TestPlain(t *testing.T) {
	in := "| ❌ | `a`<br>[`r`](https://x/y#L1) high | Name a version &lt;x&gt; \\*. | " +
		"<a href=\"https://x\"><code>a&#47;<wbr>b</code></a> |\n" +
		"<details><summary>More</summary>\n\nx &amp; y &#27;[2J\n</details>"
	want := "| ❌ | `a`; `r` high | Name a version <x> *. | a/b |\n▸ More\n\nx & y \\u001b[2J\n"
	if got := plain(in); got != want {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}

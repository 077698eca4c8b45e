package pages

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/report"
)

func storedResult(text string) *results.Stored {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	return &results.Stored{Meta: results.Meta{ID: "0123", Repository: results.Repository{ID: 1, Installation: 2, Owner: "octo", Name: "fleet"},
		Pull: &results.Pull{Number: 7, Title: text, Author: text}, Head: "c0ffee0123456789", Base: "beef0123456789", Rules: "cafe0123456789",
		CheckRun: 12, Conclusion: report.Failure, Title: text, Started: at, Completed: at.Add(3 * time.Second),
		GitHub: "https://github.example", Command: "lintel check"},
		Report: &report.Report{Conclusion: report.Failure, Title: text, Findings: []report.Finding{{Policy: text, Rule: text,
			Message: text, New: true, Blocks: true, Result: report.Fail, Action: report.Enforce,
			Origin: &report.Origin{Path: "a b.yaml", StartLine: 3, EndLine: 3}}}}}
}

func overview(text string) *results.Overview {
	o := &results.Overview{Repository: results.Repository{ID: 1, Owner: "octo", Name: "fleet"}, GitHub: "https://github.example",
		Exceptions: []results.Exception{{Name: text, Path: "e.yaml", Line: 2, Expires: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Covers: 2}},
		NotChecked: []report.NotChecked{{Root: "r", Path: "x.yaml", Line: 1, Reason: text}}, MoreNotChecked: 3}
	for i := range 80 {
		o.Branch = append(o.Branch, results.Entry{ID: fmt.Sprint(i), Head: "c0ffee", Name: "main", Conclusion: report.Neutral, Title: text,
			Completed: time.Date(2026, 5, 1, 0, 80-i, 0, 0, time.UTC), Total: 10 + i,
			Violations: []results.Violations{{Policy: text, Count: 5}, {Policy: "other", Count: 3 + i}}})
	}
	o.Pulls = []results.Entry{{ID: "9", Head: "dead", Pull: 4, Name: text, Conclusion: report.Success, Title: text}}
	return o
}

func TestPagesOfResults(t *testing.T) {
	view := results.View{Base: "/lintel", Here: "/lintel/r/x", SignedIn: true}
	var b bytes.Buffer
	if err := (Renderer{}).Result(&b, storedResult("Words"), view); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<a href="https://github.example/octo/fleet/pull/7">octo/fleet #7</a>`, "Words by Words",
		`<a href="https://github.example/octo/fleet/blob/c0ffee0123456789/a%20b.yaml#L3">a b.yaml:3</a>`,
		`<a href="https://github.example/octo/fleet/commit/c0ffee0123456789">c0ffee0123</a>`, "1 May 2026 10:00 UTC, in 3s",
		`<form method="post" action="/lintel/auth/sign-out">`, "Sign out", `href="/lintel/static/page-`, `src="/lintel/static/page-`,
		"<code>lintel check</code>", `<a href="/lintel/o/octo/fleet">octo/fleet</a>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	gone := storedResult("Words")
	gone.Report = nil
	b.Reset()
	if err := (Renderer{}).Result(&b, gone, results.View{}); err != nil || !strings.Contains(b.String(), "re-run the check") ||
		strings.Contains(b.String(), "Sign out") {
		t.Errorf("%v\n%s", err, b.String())
	}
	large := storedResult("Words")
	large.LeftOut = []string{"differences", "folders", "teams"}
	b.Reset()
	if err := (Renderer{}).Result(&b, large, view); err != nil || !strings.Contains(b.String(), "too large to be kept: the rendered differences, details.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestPagesOfRepositories(t *testing.T) {
	var b bytes.Buffer
	if err := (Renderer{}).Repository(&b, overview("Words"), results.View{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ends on 1 June 2026", "covers 2 findings", "and 3 more",
		`<a href="https://github.example/octo/fleet/blob/c0ffee/e.yaml#L2">e.yaml:2</a>`, `<a href="https://github.example/octo/fleet/pull/4">#4 Words</a>`,
		`<a href="/r/octo/fleet/dead/9">Words</a>`, `<td class="n">3</td><td class="n">59</td>`, "at most 69"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "<rect"); n != 3*chartBars {
		t.Errorf("%d parts are drawn", n)
	}
	b.Reset()
	if err := (Renderer{}).Organisation(&b, "octo", []*results.Overview{overview("Words"), {Repository: results.Repository{Owner: "octo",
		Name: "new"}}}, results.View{}); err != nil || !strings.Contains(b.String(), `<a href="/o/octo/fleet">octo/fleet</a>`) ||
		!strings.Contains(b.String(), `<a href="/o/octo/new">octo/new</a>`) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What a repository or GitHub says is text on these pages, too.
func TestPagesHaveNoMarkupOfOthers(t *testing.T) {
	const attack = `"><script>pwned()</script><img src=x onerror=pwned()>`
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"result":       func(b *bytes.Buffer) error { return Renderer{}.Result(b, storedResult(attack), results.View{}) },
		"repository":   func(b *bytes.Buffer) error { return Renderer{}.Repository(b, overview(attack), results.View{}) },
		"organisation": func(b *bytes.Buffer) error { return Renderer{}.Organisation(b, attack, nil, results.View{}) },
		"message": func(b *bytes.Buffer) error {
			return Renderer{}.Message(b, results.Message{Title: attack, Text: attack}, results.View{})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || strings.Contains(b.String(), "<script>pwned") || strings.Contains(b.String(), "<img") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

func TestPageAssets(t *testing.T) {
	files, err := fs.Glob(Renderer{}.Assets(), "*")
	if err != nil || len(files) != 2 {
		t.Errorf("%q %v", files, err)
	}
}

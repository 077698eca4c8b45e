package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

func storedResult(text string) *Stored {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	return &Stored{Meta: Meta{ID: "0123", Repository: forge.Repository{Repo: forge.Repo{ID: 1, Installation: 2, Owner: "octo", Name: "fleet"}},
		Pull: &Pull{Number: 7, Title: text, Author: text}, Head: "c0ffee0123456789", Base: "beef0123456789", Rules: "cafe0123456789",
		CheckRun: 12, Conclusion: report.Failure, Title: text, Started: at, Completed: at.Add(3 * time.Second),
		GitHub: "https://github.example", Command: "lintel check"},
		Report: &report.Report{Conclusion: report.Failure, Title: text, Findings: []report.Finding{{Policy: text, Rule: text,
			Message: text, New: true, Blocks: true, Result: report.Fail, Action: report.Enforce,
			Origin: &report.Origin{Path: "a b.yaml", StartLine: 3, EndLine: 3}}}}}
}

func overview(text string) *Overview {
	o := &Overview{Repository: forge.Repository{Repo: forge.Repo{ID: 1, Owner: "octo", Name: "fleet"}}, GitHub: "https://github.example",
		Exceptions: []Exception{{Active: report.Active{Name: text, Path: "e.yaml", Line: 2, Expires: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Covers: 2}},
			{Active: report.Active{Name: "for good", Path: "e.yaml", Line: 9, Covers: 1}, Never: true},
			{Active: report.Active{Name: "of an older version", Path: "o.yaml"}},
			{Active: report.Active{Name: "over", Path: "e.yaml", Line: 20, Expires: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}, Expired: true},
			{Active: report.Active{Name: "idle", Path: "e.yaml", Line: 30}, Never: true, Unused: true}}, MoreExceptions: 4,
		NotChecked: []report.NotChecked{{Root: "r", Path: "x.yaml", Line: 1, Reason: text}}, MoreNotChecked: 3}
	for i := range 80 {
		o.Branch = append(o.Branch, Entry{ID: fmt.Sprint(i), Head: "c0ffee", Name: "main", Conclusion: report.Neutral, Title: text,
			Completed: time.Date(2026, 5, 1, 0, 80-i, 0, 0, time.UTC), Total: 10 + i,
			Violations: []Violations{{Policy: text, Severity: "high", Count: 5}, {Policy: "other", Count: 3 + i}}})
	}
	o.Pulls = []Entry{{ID: "9", Head: "dead", Pull: 4, Name: text, Conclusion: report.Success, Title: text}}
	return o
}

func summary(text string) *Summary {
	return &Summary{Repository: forge.Repository{Repo: forge.Repo{ID: 1, Owner: "octo", Name: "fleet"}},
		Newest: &Entry{ID: "9", Head: "dead", Name: text, Conclusion: report.Success, Title: text},
		Trend: []Point{{At: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), Total: 7, Blocking: 2},
			{At: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), Total: 9, Blocking: 9}}}
}

func TestPagesOfResults(t *testing.T) {
	view := View{Base: "/lintel", Here: "/lintel/r/x", SignedIn: true}
	var b bytes.Buffer
	if err := (HTML{}).Result(&b, storedResult("Words"), view); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<a href="https://github.example/octo/fleet/pull/7">octo/fleet #7</a>`, "Words · by Words",
		`<a href="https://github.example/octo/fleet/blob/c0ffee0123456789/a%20b.yaml#L3">a b.yaml:3</a>`,
		`<a href="https://github.example/octo/fleet/commit/c0ffee0123456789">c0ffee0123</a>`, "1 May 2026 10:00 UTC, in 3s",
		`<form method="post" action="/lintel/auth/sign-out">`, "Sign out", `href="/lintel/static/page-`, `src="/lintel/static/page-`,
		`<code class="command">lintel check</code>`, `<a href="/lintel/o/octo/fleet">octo/fleet</a>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	branch := storedResult("Words") // has no button
	branch.Pull, branch.Command = nil, "lintel check --all --defaults octo/.lintel"
	b.Reset()
	if err := (HTML{}).Result(&b, branch, view); err != nil || !strings.Contains(b.String(), branch.Command+" --draft-exceptions -<") {
		t.Errorf("%v\n%s", err, b.String())
	}
	gone := storedResult("Words")
	gone.Report = nil
	b.Reset()
	if err := (HTML{}).Result(&b, gone, View{}); err != nil || !strings.Contains(b.String(), "re-run the check") ||
		strings.Contains(b.String(), "Sign out") {
		t.Errorf("%v\n%s", err, b.String())
	}
	large := storedResult("Words")
	large.LeftOut = []string{"differences", "folders", "teams"}
	b.Reset()
	if err := (HTML{}).Result(&b, large, view); err != nil || !strings.Contains(b.String(), "too large to store: the rendered differences, details.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// If readers can sign in, a page has a button to sign in, which returns to the page, or to sign out.
func TestPagesLeadToTheSignIn(t *testing.T) {
	here := View{Base: "/lintel", Here: "/lintel/o/octo"}
	known := here
	known.SignedIn = true
	for name, c := range map[string]struct {
		of      HTML
		view    View
		in, out bool
	}{
		"not signed in":             {HTML{SignIn: true}, here, true, false},
		"signed in":                 {HTML{SignIn: true}, known, false, true},
		"sign-in is not configured": {HTML{}, here, false, false},
		"page without path":         {HTML{SignIn: true}, View{Base: "/lintel"}, false, false},
	} {
		for kind, write := range map[string]func(b *bytes.Buffer) error{
			"result":       func(b *bytes.Buffer) error { return c.of.Result(b, storedResult("Words"), c.view) },
			"repository":   func(b *bytes.Buffer) error { return c.of.Repository(b, overview("Words"), c.view) },
			"organisation": func(b *bytes.Buffer) error { return c.of.Organisation(b, "octo", nil, c.view) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			in := strings.Contains(b.String(), `<a class="button" href="/lintel/auth/login?return=%2Flintel%2Fo%2Focto">Sign in</a>`)
			if out := strings.Contains(b.String(), "Sign out"); in != c.in || out != c.out {
				t.Errorf("%s, %s: sign in %t, sign out %t\n%s", name, kind, in, out, b.String())
			}
		}
	}
}

func TestPagesOfRepositories(t *testing.T) {
	var b bytes.Buffer
	if err := (HTML{}).Repository(&b, overview("Words"), View{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<td class="when">1 June 2026</td><td>2 findings</td>`, `<td class="when">never</td><td>1 finding</td>`,
		`<td class="when">not known</td><td>0 findings</td>`, `<td class="when">ended on 1 April 2026</td><td class="look">nothing now</td>`,
		`<td class="when">never</td><td class="look">nothing that needs it</td>`, "and 3 more", "and 4 more",
		"<title>Violations of the default branch by policy</title><desc>69 on 2026-05-01 00:21, 10 on 2026-05-01 01:20, at most 69 in 60 reports</desc>",
		`<tr><th scope="row" class="when">2026-05-01 01:20</th><td class="n">5</td><td class="n">3</td><td class="n">2</td><td class="n">10</td></tr>`,
		`<tr><th scope="row">Words</th><td>high</td><td class="n" data-of="violations">5</td><td class="n" data-of="since 1 May 2026">0</td></tr>`, "Since 1 May 2026",
		`<a href="https://github.example/octo/fleet/commit/c0ffee">c0ffee</a>`, `<a href="/r/octo/fleet/c0ffee/0">Words</a>`,
		`<a href="https://github.example/octo/fleet/blob/c0ffee/e.yaml#L2">e.yaml:2</a>`, `<a href="https://github.example/octo/fleet/pull/4">#4 Words</a>`,
		`<a href="/r/octo/fleet/dead/9">Words</a>`, `<td class="n" data-of="violations">3</td><td class="n good" data-of="since 1 May 2026">−59</td>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "<rect"); n != 3*chartBars {
		t.Errorf("%d parts are drawn", n)
	}
	b.Reset()
	if err := (HTML{}).Organisation(&b, "octo", []*Summary{summary("Words"), {Repository: forge.Repository{Repo: forge.Repo{Owner: "octo", Name: "new"}}}}, View{More: true}); err != nil || !strings.Contains(b.String(), "The list is not complete.") ||
		!strings.Contains(b.String(), `<td class="n" data-of="blocking">2</td><td class="n" data-of="violations">7</td>`) ||
		!strings.Contains(b.String(), "<desc>9 on 2026-04-01 00:00, 7 on 2026-05-01 00:00, at most 9 in 2 reports</desc>") || !strings.Contains(b.String(), `<a href="/o/octo/fleet">octo/fleet</a>`) ||
		!strings.Contains(b.String(), `<a href="/o/octo/new">octo/new</a>`) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Text of a repository or of GitHub is never markup on these pages.
func TestForeignTextIsNoMarkup(t *testing.T) {
	const attack = `"><script>pwned()</script><img src=x onerror=pwned()>`
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"result":     func(b *bytes.Buffer) error { return HTML{}.Result(b, storedResult(attack), View{}) },
		"repository": func(b *bytes.Buffer) error { return HTML{}.Repository(b, overview(attack), View{}) },
		"organisation": func(b *bytes.Buffer) error {
			return HTML{}.Organisation(b, attack, []*Summary{summary(attack)}, View{})
		},
		"message": func(b *bytes.Buffer) error {
			return writeMessage(b, output.Frame{}, attack, attack)
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || strings.Contains(b.String(), "<script>pwned") || strings.Contains(b.String(), "<img") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// The page of a rules repository links the previews of its pull requests.
func TestRulesRepositoryLinksFleetPreviews(t *testing.T) {
	o := overview("Words")
	v := View{Base: "/lintel", More: true, Previews: []PreviewResult{{Number: 12, Repository: forge.Repository{Repo: forge.Repo{Owner: "octo", Name: "user"}}, ID: "1d", Head: "c0ffee", Conclusion: report.Neutral, Title: "Once merged: <1> new failure"}}}
	var b bytes.Buffer
	if err := (HTML{}).Repository(&b, o, v); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<h2 id="elsewhere">Pull requests in other repositories</h2>`, "The list is not complete.",
		`<a href="https://github.example/octo/fleet/pull/12">#12</a> <small>in octo/user</small>`,
		`<a href="/lintel/r/octo/user/c0ffee/1d">Once merged: &lt;1&gt; new failure</a>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A preview page names the repository of the change, and gives no advice for the repository shown.
func TestPreviewPageNamesItsRepository(t *testing.T) {
	rep := &report.Report{All: true, Concerned: true, Preview: &report.Preview{Policies: []report.PolicyPreview{{Policy: "owned",
		Path: "https://github.com/octo-org/policies@" + strings.Repeat("a", 40) + "//kyverno/owned.yaml", Line: 3, Edit: report.Changed,
		PreviewCounts: report.PreviewCounts{Fails: 1}, Applies: 2, Roots: 1, Action: report.Enforce}}, Stats: report.PreviewStats{Resources: 2, Roots: 1}}}
	rep.ConcludeProposed()
	r := &Stored{Report: rep, Meta: Meta{Repository: forge.Repository{Repo: forge.Repo{Owner: "octo-org", Name: "user"}},
		Of: &PreviewOf{Repository: forge.Repository{Repo: forge.Repo{Owner: "octo-org", Name: "policies"}}, Number: 12}, Head: strings.Repeat("b", 40), GitHub: "https://github.com"}}
	var b bytes.Buffer
	if err := (HTML{}).Result(&b, r, View{}); err != nil {
		t.Fatal(err)
	}
	body := b.String()
	for _, want := range []string{"what octo-org/policies#12 would change here", "Once merged: 1 new failure",
		"would newly fail for 1 resource of 2", "https://github.com/octo-org/policies/blob/" + strings.Repeat("a", 40) + "/kyverno/owned.yaml#L3"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"lintel init", "The check", "0 policies"} {
		if strings.Contains(body, not) {
			t.Errorf("the page has %q", not)
		}
	}
}

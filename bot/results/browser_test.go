package results

import (
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output/pagetest"
	"github.com/lintel-bot/lintel/checks/report"
)

const webHost = "https://github.example"

// everybody is a Guard that treats every repository as public.
type everybody struct{ known atomic.Bool }

func (g *everybody) Once(r *http.Request) *http.Request { return r }
func (g *everybody) Level(*http.Request, forge.Repository) (Level, error) {
	return Public, nil
}
func (g *everybody) Reader(*http.Request) (string, bool)          { return "", g.known.Load() }
func (g *everybody) Turn(http.ResponseWriter, *http.Request) bool { return false }

// served serves the pages of stored results as the server does.
type served struct {
	t     *testing.T
	url   string
	guard *everybody
	store *Store
}

func serve(t *testing.T) *served {
	t.Helper()
	jobs, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jobs.Close() })
	limits := Limits{Bytes: 256 << 20, Age: DefaultAge}
	s := &served{t: t, guard: &everybody{}, store: NewStore(jobs.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		jobs.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, time.Now)}
	handler := New(Config{Store: s.store, Renderer: HTML{SignIn: true}, Guard: s.guard})
	mux := http.NewServeMux()
	for _, pattern := range handler.Patterns() {
		mux.Handle(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// put stores a result of pull request or default branch n of a repository.
func (s *served) put(repository int64, owner, name string, n int, pull *Pull, at time.Time,
	rep *report.Report) *Stored {
	s.t.Helper()
	m := Meta{ID: ID(fmt.Sprint(repository, n, pull != nil)), Head: fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, repository, n))),
		Repository: forge.Repository{Repo: forge.Repo{ID: repository, Installation: 1, Owner: owner, Name: name}}, Pull: pull,
		Base: fmt.Sprintf("%040x", n), Rules: fmt.Sprintf("%040x", n), Conclusion: rep.Conclusion, Title: rep.Title,
		Started: at.Add(-3 * time.Second), Completed: at, GitHub: webHost, Command: "lintel check --base main"}
	if pull == nil {
		m.Branch = "main"
	}
	r := &Stored{Meta: m, Report: rep}
	if err := s.store.Put(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// hostile returns a report with the same text in every field.
func hostile(text string) *report.Report {
	f := func(state report.State, result report.Result, is bool) report.Finding {
		e := report.Finding{Result: result, Action: report.Enforce, New: is, Blocks: is}
		if state != "" {
			e.Exemption = &report.Exemption{State: state}
		}
		return e
	}
	rep := &report.Report{Conclusion: report.Failure, Findings: []report.Finding{f("", report.Fail, true),
		f(report.Pending, report.Fail, true), f(report.Merged, report.Skip, false), f("", report.Fail, false)},
		Cleanup: []report.Cleanup{{Unused: true}, {Expired: true}, {Expires: time.Now().Add(time.Hour)}}}
	pagetest.Fill(rep, text)
	return rep
}

// TestServedPages opens the server's pages in one browser.
func TestServedPages(t *testing.T) {
	b, s := pagetest.Open(t), serve(t)
	t.Run("scripts", func(t *testing.T) { nothingRuns(t, b, s) })
	t.Run("overviews", func(t *testing.T) { overviews(t, b, s) })
}

// Text of a repository or a pull request is never markup, in any field of any page: it runs no script, links nowhere,
// and loads nothing.
func nothingRuns(t *testing.T, b *pagetest.Tab, s *served) {
	const owner = "octo"
	at := time.Now().Add(-time.Hour)
	look := func(what, path, words string) {
		t.Helper()
		b.Forget()
		b.Run(t, chromedp.Navigate(s.url+path))
		if !strings.Contains(b.Text(t, `document.querySelector("main").textContent`), words) {
			t.Errorf("%s: the page does not have it: %s", what, b.Text(t, `document.documentElement.outerHTML`))
		}
		if got := b.Markup(t); got != (pagetest.Markup{Scripts: 1}) {
			t.Errorf("%s: %+v", what, got)
		}
		var elsewhere []string
		b.Run(t, chromedp.Evaluate(fmt.Sprintf(`Array.from(document.querySelectorAll("[href],[src],[action]"), (e) => e.href || e.src || e.action)
			.filter((a) => ![%q, %q].includes(new URL(a).origin))`, s.url, webHost), &elsewhere))
		seen := b.Seen()
		elsewhere = append(elsewhere, slices.DeleteFunc(seen.Requests, func(a string) bool { return strings.HasPrefix(a, s.url+"/") })...)
		if len(elsewhere)+len(seen.Logged)+seen.Dialogs > 0 {
			t.Errorf("%s: %q, %q, %d dialogs", what, elsewhere, seen.Logged, seen.Dialogs)
		}
	}
	words := func(text string) string { // the text as the page has it, with replaced control characters
		return strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == '\u2028' })[0]
	}
	for i, text := range pagetest.Scripts() {
		name := fmt.Sprint("r", i)
		pull := &Pull{Number: 7}
		pagetest.Fill(pull, text)
		rep := hostile(text)
		one := s.put(int64(i+1), owner, name, 1, pull, at, rep)
		s.put(int64(i+1), owner, name, 2, nil, at, rep)
		for what, path := range map[string]string{"result": one.Path(), "repository": RepositoryPath(one.Repository)} {
			look(fmt.Sprintf("%s, %q", what, text), path, words(text))
		}
	}
	look("organisation", OrganisationPath(owner), words(pagetest.Scripts()[0]))
}

// The overviews and messages fit every width, and are accessible.
func overviews(t *testing.T, b *pagetest.Tab, s *served) {
	fleet := s.fill()
	pages := map[string]string{"repository": RepositoryPath(fleet), "organisation": OrganisationPath(fleet.Owner),
		"not-found": "/o/nobody", "wide": "/o/" + long}
	for name, path := range pages {
		b.Run(t, chromedp.Navigate(s.url+path))
		b.Fits(t, "served-"+name)
	}
	t.Run("axe", func(t *testing.T) {
		script := pagetest.FetchAxe(t)
		for name, path := range pages {
			b.Run(t, chromedp.Navigate(s.url+path))
			b.Accessible(t, script, name)
		}
	})
	// A reader who is not signed in can sign in on the same page, and one who is signed in can sign out.
	b.Run(t, chromedp.Navigate(s.url+pages["repository"]))
	if got := b.Text(t, `document.querySelector("header .button").getAttribute("href")`); got !=
		"/auth/login?return=%2Fo%2Facme%2Ffleet" {
		t.Errorf("the sign-in leads to %s", got)
	}
	s.guard.known.Store(true)
	b.Run(t, chromedp.Reload())
	if got := b.Text(t, `document.querySelector("header form button").textContent + document.querySelectorAll("header a.button").length`); got != "Sign out0" {
		t.Errorf("signed in: %s", got)
	}
	// The page is the same without scripts, since it loads nothing on demand.
	res, err := http.Get(s.url + pages["organisation"])
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "acme/fleet") {
		t.Errorf("%v\n%s", err, body)
	}
}

// long is a name without a place for a line break.
var long = strings.Repeat("a-very-long-name", 6)

// fill stores the results of a busy organisation.
func (s *served) fill() forge.Repository {
	now := time.Now().UTC()
	finding := func(policy string, resources int) report.Finding {
		f := report.Finding{Policy: policy, Rule: "rule", Result: report.Fail, Action: report.Enforce,
			Resource: report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "shop"},
			Message:  "The image tag latest is not allowed.", Origin: &report.Origin{Path: "apps/shop/deployment.yaml", StartLine: 19, EndLine: 19}}
		for i := range resources - 1 {
			f.Resources = append(f.Resources, report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprint("shop-", i)})
		}
		return f
	}
	branch := func(k int) *report.Report {
		rep := &report.Report{All: true, Conclusion: report.Neutral, Findings: []report.Finding{
			finding("disallow-latest-tag", 5+k/6), finding("require-run-as-nonroot", 3+k%5), finding("require-requests-limits", 8+k/4),
			finding("restrict-image-registries", 2), finding("disallow-host-path", 1+k%2), finding("require-probes", 4)},
			NotChecked: []report.NotChecked{{Root: "apps/legacy", Path: "apps/legacy/kustomization.yaml", Line: 4,
				Reason: "the remote base https://github.com/acme/base could not be fetched"},
				{Root: "clusters/edge", Path: "clusters/edge/flux-system/gotk-sync.yaml", Reason: "the path apps/edge is not there"}},
			Cleanup: []report.Cleanup{{Name: "legacy-host-path", Path: "policies/exceptions/legacy.yaml", Line: 1, Expires: now.Add(9 * 24 * time.Hour)},
				{Name: "old-registry", Path: "policies/exceptions/registry.yaml", Line: 3, Unused: true},
				{Name: "gone", Path: "policies/exceptions/gone.yaml", Line: 8, Expires: now.Add(-24 * time.Hour), Expired: true}}}
		n := 0
		for _, f := range rep.Findings {
			n += 1 + len(f.Resources)
		}
		rep.Title = fmt.Sprintf("%d violations in the branch", n)
		return rep
	}
	repository := func(id int64, name string, reports int) *Stored {
		var last *Stored
		for i := range reports {
			last = s.put(id, "acme", name, i, nil, now.Add(-time.Duration(reports-i)*20*time.Hour), branch(reports-i))
		}
		return last
	}
	fleet := repository(501, "fleet", 45)
	for i, p := range []struct {
		title string
		state report.Conclusion
		says  string
	}{
		{"Move the shop to the new registry", report.Failure, "2 new violations block the merge"},
		{"Raise the limits of the billing worker and let it run on the edge clusters, too", report.ActionRequired, "1 exception waits for approval by acme/security"},
		{"Update ingress-nginx to 4.12.1", report.Success, "No new violations"},
		{"Let the " + long + " be", report.Neutral, "1 new violation, none blocks"},
		{"Remove the canary", report.Success, "No new violations"},
	} {
		s.put(501, "acme", "fleet", 100+i, &Pull{Number: 412 + i, Title: p.title, Author: "alice"}, now.Add(-time.Duration(i*7+1)*time.Hour),
			&report.Report{Conclusion: p.state, Title: p.says})
	}
	repository(502, "platform", 20)
	repository(503, "monitoring", 3)
	s.put(504, "acme", "sandbox", 1, &Pull{Number: 3, Title: "Try it", Author: "bob"}, now, &report.Report{Conclusion: report.Success, Title: "No new violations"})
	s.put(505, long, long, 1, &Pull{Number: 3, Title: long, Author: "bob"}, now, &report.Report{Conclusion: report.Success, Title: long})
	return fleet.Repository
}

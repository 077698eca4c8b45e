package output

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lintel-bot/lintel/checks/output/pagetest"
	"github.com/lintel-bot/lintel/checks/report"
)

// servedPage returns the page as a server serves it, divided into parts.
func servedPage(r *report.Report) *Page {
	p := PageOf(r, PageOptions{BlobURL: blobURL, PolicyURL: blobURL})
	p.Static, p.Parts = "/static/", "/p/"
	return p
}

// A page and its parts together have all content, each item once, and none is too large.
func TestPageParts(t *testing.T) {
	const limit = 2_000_000
	of := func(pattern string, texts ...string) (list []string) {
		for _, text := range texts {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
				list = append(list, m[1])
			}
		}
		return list
	}
	for _, c := range []struct{ findings, changes int }{{0, 0}, {500, 100}, {1000, 200}, {5000, 10}, {10, 2000}, {3000, 1500}} {
		if testing.Short() && c.findings+c.changes > 2000 {
			continue // takes half a second; make test-all runs it
		}
		r := sizable(c.findings, c.changes)
		p := servedPage(r)
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		texts := []string{out.String()}
		links := of(`<p class="rest"><a href="/p/([^"#]+)`, texts[0])
		slices.Sort(links)
		for _, name := range slices.Compact(links) {
			out.Reset()
			if err := p.WritePart(&out, name); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, out.String())
		}
		for i, text := range texts {
			if len(text) > limit {
				t.Errorf("%d findings, %d changes: text %d has %d bytes", c.findings, c.changes, i, len(text))
			}
		}
		ids := of(`<article class="finding [a-z ]*" id="([^"]+)"`, texts...)
		slices.Sort(ids)
		if unique := len(slices.Compact(slices.Clone(ids))); len(ids) != c.findings || unique != c.findings {
			t.Errorf("%d of %d findings, %d of them unique", len(ids), c.findings, unique)
		}
		if n := strings.Count(strings.Join(texts, ""), `<td>+<td>`); n < c.changes {
			t.Errorf("%d of %d changes", n, c.changes)
		}
		heads := of(`<details id="(d-[^"]+)"`, texts...)
		slices.Sort(heads)
		if n := len(slices.Compact(heads)); n != c.changes {
			t.Errorf("%d of %d changes", n, c.changes)
		}
		if c.findings+c.changes <= 600 && len(texts) > 1 {
			t.Errorf("%d findings, %d changes: there are %d parts", c.findings, c.changes, len(texts)-1)
		}
		for _, name := range []string{"", "findings-0", "findings-9999", "differences-1x", "x"} {
			if err := p.WritePart(&out, name); !errors.Is(err, ErrNoPart) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	p := servedPage(sizable(5000, 2000))
	p.Parts = ""
	var out bytes.Buffer
	if err := p.Write(&out); err != nil || strings.Contains(out.String(), `class="rest"`) {
		t.Errorf("a file is not whole: %v", err)
	}
}

// Findings that depend on one cause are one item of the page, or several parts of it if there are many.
func TestPagePartsOfCauses(t *testing.T) {
	const objects = 20_000
	r := &report.Report{}
	id := r.Because(report.Cause{Kind: report.CauseCluster, What: "Namespace shop"})
	for i := range objects {
		r.Findings = append(r.Findings, finding(func(f *report.Finding) {
			f.Result, f.Blocks, f.Causes, f.Resource.Name = report.Unknown, false, []string{id}, fmt.Sprint("undecided-", i)
		}))
	}
	p := servedPage(r)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Count(page, "needs the cluster: Namespace shop") != 1 || strings.Contains(page, `class="finding`) ||
		len(page) > 100_000 {
		t.Errorf("%d bytes, %.2000s", len(page), page[strings.Index(page, "<main"):])
	}
	named := strings.Count(page, "undecided-")
	for _, m := range regexp.MustCompile(`<a href="/p/(names-[0-9]+)"`).FindAllStringSubmatch(page, -1) {
		out.Reset()
		if err := p.WritePart(&out, m[1]); err != nil {
			t.Fatal(err)
		}
		named += strings.Count(out.String(), "undecided-")
	}
	if named != objects {
		t.Errorf("%d of %d objects are named", named, objects)
	}
}

// In a browser, parts are loaded by a click, a key, an address or a search.
func TestPageLoadsItsParts(t *testing.T) {
	b := pagetest.Open(t)
	p := servedPage(sizable(3000, 1500))
	broken, other := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'")
		name, isPart := strings.CutPrefix(request.URL.Path, "/p/")
		switch {
		case strings.HasPrefix(request.URL.Path, "/static/"):
			for _, a := range Assets() {
				if strings.HasSuffix(request.URL.Path, a.Name) {
					w.Header().Set("Content-Type", a.Type)
					_, _ = w.Write(a.Data)
				}
			}
		case isPart && name == broken:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case isPart && name == other:
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<main><form><article>Sign in here</article></form></main>")
		case isPart:
			_ = p.WritePart(w, name)
		case request.URL.Path == "/":
			_ = p.Write(w) // the browser may have closed the connection
		}
	}))
	defer server.Close()
	const findings, rest = `document.querySelectorAll("article.finding").length`, `document.querySelectorAll(".rest").length`
	b.Run(t, chromedp.Navigate(server.URL+"/"))
	b.Until(t, findings+" > 300 && "+findings+" < 2000 && "+rest+" > 5", "the page has a part of all")

	b.Run(t, chromedp.Evaluate(`window.before = `+findings+`; document.querySelector(".group .rest a").click()`, nil))
	b.Until(t, findings+` > window.before && location.pathname === "/"`, "a click")

	b.Run(t, chromedp.Evaluate(`window.last = Array.from(document.querySelectorAll("details.change")).pop(); window.last.open = true`, nil))
	b.Until(t, `window.last.querySelectorAll("tr.add").length === 1 && !window.last.querySelector(".rest")`, "unfolding a change")

	b.Run(t, chromedp.Evaluate(`window.before = `+findings+`;
		Array.from(document.querySelectorAll(".group .rest")).shift().previousElementSibling.focus()`, nil),
		chromedp.KeyEvent("j"))
	b.Until(t, findings+` > window.before && document.activeElement.matches("article.finding")`, "a key")

	last := ""
	for _, g := range p.Groups {
		last = g.Findings[len(g.Findings)-1].ID
	}
	b.Run(t, chromedp.Navigate("about:blank"), chromedp.Navigate(server.URL+"/#"+last))
	b.Until(t, fmt.Sprintf(`document.getElementById(%q) !== null`, last), "an address of a finding that is far down")

	b.Run(t, chromedp.Navigate("about:blank"), chromedp.Navigate(server.URL+"/"),
		chromedp.Focus(`input[type=search]`, chromedp.ByQuery))
	for _, key := range "app-2999" {
		b.Run(t, chromedp.KeyEvent(string(key)))
	}
	n := 3000 + len(p.Changes)
	for _, b := range p.Bumps {
		n += len(b.Changed)
	}
	b.Until(t, fmt.Sprintf(`document.querySelector(".tools [role=status]").textContent === "1 of %d"`, n), "a search")
	b.Run(t, chromedp.KeyEvent(kb.Escape))
	b.Until(t, findings+` === 3000`, "all of it, then")

	broken = "findings-1"
	b.Run(t, chromedp.Navigate("about:blank"), chromedp.Navigate(server.URL+"/"),
		chromedp.Evaluate(`document.querySelector(".group .rest a").click()`, nil), chromedp.WaitVisible("pre"))
	b.Until(t, `location.pathname === "/p/findings-1"`, "a part that does not come is a link")
	broken, other = "", "findings-1"
	b.Run(t, chromedp.Navigate("about:blank"), chromedp.Navigate(server.URL+"/"),
		chromedp.Evaluate(`document.querySelector(".group .rest a").click()`, nil), chromedp.WaitVisible("form"))
	b.Until(t, `location.pathname === "/p/findings-1"`, "another page in its place is no part of this one")
	seen := b.Seen()
	if len(seen.Logged) > 0 && !strings.Contains(strings.Join(seen.Logged, ""), "503") || seen.Dialogs > 0 {
		t.Errorf("%+v", seen)
	}
}

package output

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lintel-bot/lintel/checks/output/pagetest"
	"github.com/lintel-bot/lintel/checks/report"
)

// tab shows reports in a browser.
type tab struct{ *pagetest.Tab }

func open(t *testing.T) *tab { return &tab{pagetest.Open(t)} }

// show opens a report as one file.
func (b *tab) show(t *testing.T, r *report.Report) (address string) {
	t.Helper()
	var data bytes.Buffer
	if err := checkHTML(&data, r, Options{HTML: PageOptions{BlobURL: blobURL, PolicyURL: blobURL}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Forget()
	b.Run(t, chromedp.Navigate("file://"+file))
	return "file://" + file
}

// Text of a repository is never markup in any field, and the page loads nothing but the file.
func TestPageRunsNothingOfARepository(t *testing.T) {
	b := open(t)
	for _, s := range pagetest.Scripts() {
		address := b.show(t, hostileReport(s))
		var links int
		b.Run(t, chromedp.Evaluate(`Array.from(document.querySelectorAll("a[href]"))
			.filter((a) => !/^(https:\/\/github\.com\/|#)/.test(a.getAttribute("href"))).length`, &links))
		if got := b.Markup(t); got != (pagetest.Markup{Scripts: 1}) || links > 0 {
			t.Errorf("%q: %+v, %d links to elsewhere", s, got, links)
		}
		seen := b.Seen()
		for _, r := range seen.Requests {
			if r != address {
				t.Errorf("%q: asked for %s", s, r)
			}
		}
		if len(seen.Logged) > 0 || seen.Dialogs > 0 {
			t.Errorf("%q: %d dialogs, %q", s, seen.Dialogs, seen.Logged)
		}
	}
}

// crowded returns a report with wide and long content.
func crowded() *report.Report {
	r := rich()
	for i := range 40 {
		f := r.Findings[0]
		f.Policy = fmt.Sprintf("policy-%d", i%7)
		f.Resource.Name = strings.Repeat("long", 20)
		f.Message = strings.Repeat("x", 400)
		f.Roots = []string{strings.Repeat("folder/", 30)}
		r.Findings = append(r.Findings, f)
	}
	return r
}

// At every width, the page needs no horizontal scrolling.
func TestPageFitsItsWidth(t *testing.T) {
	b := open(t)
	for name, r := range map[string]*report.Report{"rich": rich(), "crowded": crowded(), "clear": clear()} {
		b.show(t, r)
		b.Fits(t, "file-"+name)
	}
}

func TestPageKeysAndSearch(t *testing.T) {
	b := open(t)
	b.show(t, crowded())
	text := func(script string) (out string) {
		b.Run(t, chromedp.Evaluate(script, &out))
		return out
	}
	const active = `document.activeElement.id`
	ids := text(`Array.from(document.querySelectorAll("article.finding")).map((e) => e.id).join(" ")`)
	all := strings.Fields(ids)
	b.Run(t, chromedp.KeyEvent("j"))
	if got := text(active); got != all[0] {
		t.Errorf("after j: %s, want %s", got, all[0])
	}
	b.Run(t, chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	if got := text(active); got != all[1] {
		t.Errorf("after j, j, k: %s, want %s", got, all[1])
	}
	last := text(`Array.from(document.querySelectorAll("article.folded")).pop().id`)
	b.Run(t, chromedp.Evaluate(`location.hash = "`+last+`"`, nil), chromedp.Poll(`document.querySelector(":target > .fold")?.open`, nil))
	b.Run(t, chromedp.Evaluate(`document.querySelector("article.folded").previousElementSibling.focus()`, nil), chromedp.KeyEvent("j"))
	if got := text(`String(document.activeElement.matches(".folded") && document.activeElement.querySelector(".fold").open)`); got != "true" {
		t.Error("j leaves a finding folded")
	}
	b.Run(t, chromedp.KeyEvent("?"))
	if got := text(`String(document.querySelector("dialog").open)`); got != "true" {
		t.Error("? shows no keys")
	}
	b.Run(t, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	if got := text(`document.activeElement.type`); got != "search" {
		t.Errorf("/ goes to %q", got)
	}
	b.Run(t, chromedp.Evaluate(`document.activeElement.value = "policy-3";
		document.activeElement.dispatchEvent(new Event("input"))`, nil),
		// The script first loads the parts of the page, which takes some time.
		chromedp.Poll(`document.querySelector(".tools [role=status]").textContent !== "" &&
			Array.from(document.querySelectorAll(".group:not([hidden]) h3")).map((e) => e.textContent).join(" ") === "policy-3"`, nil))
}

// Without scripts the page is complete, and the browser folds sections.
func TestPageWithoutScripts(t *testing.T) {
	b := open(t)
	b.Run(t, emulation.SetScriptExecutionDisabled(true))
	b.show(t, rich())
	var body string
	b.Run(t, chromedp.OuterHTML("main", &body))
	for _, f := range rich().Findings {
		if !strings.Contains(body, f.Policy) {
			t.Errorf("no %s", f.Policy)
		}
	}
	if strings.Contains(body, `type="search"`) {
		t.Error("there is a search that does nothing")
	}
}

// The page has no serious or critical fault that axe-core finds, in light and in dark.
func TestPageIsAccessible(t *testing.T) {
	b := open(t)
	script := pagetest.FetchAxe(t)
	for name, r := range map[string]*report.Report{"rich": rich(), "crowded": crowded()} {
		b.show(t, r)
		b.Accessible(t, script, name)
	}
}

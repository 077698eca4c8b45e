package output

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lintel-bot/lintel/checks/report"
)

// tab is a page in a browser, and what the browser said of it.
type tab struct {
	ctx context.Context

	mu       sync.Mutex
	requests []string // addresses that were asked for
	logged   []string // what the console has: refusals of the page's policy
	dialogs  int
}

// open starts a browser. Tests that need one are skipped where there is none.
func open(t *testing.T) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("there is no browser: apt-get install chromium")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute))
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		case *cdplog.EventEntryAdded:
			b.logged = append(b.logged, e.Entry.Text)
		case *cdppage.EventJavascriptDialogOpening:
			b.dialogs++
			go chromedp.Run(ctx, cdppage.HandleJavaScriptDialog(true)) // else the page hangs
		}
	})
	b.run(t, network.Enable(), cdplog.Enable())
	return b
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

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
	b.mu.Lock()
	b.requests, b.logged, b.dialogs = nil, nil, 0
	b.mu.Unlock()
	b.run(t, chromedp.Navigate("file://"+file))
	return "file://" + file
}

// scripts are texts that are markup, or run, where they are not taken as text.
func scripts() []string {
	return []string{
		`<script>pwned()</script>`, `"><script>pwned()</script>`, `'><script>pwned()</script>`, `</style><script>pwned()</script>`,
		`</script><script>pwned()</script>`, `</title><script>pwned()</script>`, `--><script>pwned()</script>`,
		`]]><script>pwned()</script>`, `<img src=x onerror=pwned()>`, `"onmouseover="pwned()`, `' onfocus='pwned()' autofocus='`,
		`<svg onload=pwned()>`, `<svg/onload=pwned()//`, `<iframe srcdoc="<script>parent.pwned()</script>">`, `<body onload=pwned()>`,
		`javascript:pwned()`, `JaVaScRiPt:pwned()`, "java\nscript:pwned()", "\x01javascript:pwned()", `data:text/html,<script>pwned()</script>`,
		`<a href="javascript:pwned()">x</a>`, `<base href="https://evil.example/">`, `<link rel=stylesheet href=https://evil.example/x.css>`,
		`<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<form action=https://evil.example/><button>`,
		`<details open ontoggle=pwned()>`, `<math><mtext></table><script>pwned()</script>`, `{{.}} ${pwned()} {%pwned()%}`,
		`<template><script>pwned()</script></template>`, "\u2028pwned()//", `&lt;script&gt;pwned()&lt;/script&gt;`, `<!--<img src=x>`,
		`<style>@import 'https://evil.example/x.css';</style>`, `<object data=https://evil.example/x>`,
	}
}

// What a repository wrote is never markup, whatever field it is in, and nothing but the file is asked for.
func TestPageRunsNothingOfARepository(t *testing.T) {
	b := open(t)
	for _, s := range scripts() {
		address := b.show(t, hostileReport(s))
		var got struct {
			Scripts, Others, Handlers, Links int
			Pwned                            bool
		}
		b.run(t, chromedp.Evaluate(`({
			scripts: document.querySelectorAll("script").length,
			others: document.querySelectorAll("img,svg,iframe,object,embed,base,link,form:not([method=dialog]),math,template,title ~ title").length,
			handlers: Array.from(document.querySelectorAll("*")).filter((e) => e.getAttributeNames().some((n) => n.startsWith("on"))).length,
			links: Array.from(document.querySelectorAll("a[href]")).filter((a) => !/^(https:\/\/github\.com\/|#)/.test(a.getAttribute("href"))).length,
			pwned: "pwned" in window,
		})`, &got))
		if got.Scripts != 1 || got.Others+got.Handlers+got.Links > 0 || got.Pwned {
			t.Errorf("%q: %+v", s, got)
		}
		b.mu.Lock()
		for _, r := range b.requests {
			if r != address {
				t.Errorf("%q: asked for %s", s, r)
			}
		}
		if len(b.logged) > 0 || b.dialogs > 0 {
			t.Errorf("%q: %d dialogs, %q", s, b.dialogs, b.logged)
		}
		b.mu.Unlock()
	}
}

// crowded is a report with wide and long things in it.
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

// The page is read at each width without scrolling it sideways.
func TestPageFitsItsWidth(t *testing.T) {
	b := open(t)
	for _, width := range []int64{360, 768, 1280} {
		b.run(t, emulation.SetDeviceMetricsOverride(width, 900, 1, false))
		for name, r := range map[string]*report.Report{"rich": rich(), "crowded": crowded(), "clear": clear()} {
			b.show(t, r)
			var wide, inner int64
			b.run(t, chromedp.Evaluate(`document.scrollingElement.scrollWidth`, &wide),
				chromedp.Evaluate(`document.documentElement.clientWidth`, &inner))
			if wide > inner {
				t.Errorf("%s at %d: %d wide", name, width, wide)
			}
		}
	}
}

func TestPageKeysAndSearch(t *testing.T) {
	b := open(t)
	b.show(t, crowded())
	text := func(script string) (out string) {
		b.run(t, chromedp.Evaluate(script, &out))
		return out
	}
	const active = `document.activeElement.id`
	ids := text(`Array.from(document.querySelectorAll("article.finding")).map((e) => e.id).join(" ")`)
	all := strings.Fields(ids)
	b.run(t, chromedp.KeyEvent("j"))
	if got := text(active); got != all[0] {
		t.Errorf("after j: %s, want %s", got, all[0])
	}
	b.run(t, chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	if got := text(active); got != all[1] {
		t.Errorf("after j, j, k: %s, want %s", got, all[1])
	}
	b.run(t, chromedp.KeyEvent("?"))
	if got := text(`String(document.querySelector("dialog").open)`); got != "true" {
		t.Error("? shows no keys")
	}
	b.run(t, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	if got := text(`document.activeElement.type`); got != "search" {
		t.Errorf("/ goes to %q", got)
	}
	b.run(t, chromedp.Evaluate(`document.activeElement.value = "policy-3";
		document.activeElement.dispatchEvent(new Event("input"))`, nil),
		chromedp.Poll(`document.querySelector(".tools [role=status]").textContent !== ""`, nil))
	shown := text(`Array.from(document.querySelectorAll(".group:not([hidden]) h3")).map((e) => e.textContent).join(" ")`)
	if shown != "policy-3" {
		t.Errorf("searched for policy-3: %s", shown)
	}
}

// Without scripts all of it is there, and folds are the browser's own.
func TestPageWithoutScripts(t *testing.T) {
	b := open(t)
	b.run(t, emulation.SetScriptExecutionDisabled(true))
	b.show(t, rich())
	var body string
	b.run(t, chromedp.OuterHTML("main", &body))
	for _, f := range rich().Findings {
		if !strings.Contains(body, f.Policy) {
			t.Errorf("no %s", f.Policy)
		}
	}
	if strings.Contains(body, `type="search"`) {
		t.Error("there is a search that does nothing")
	}
}

// axe is https://github.com/dequelabs/axe-core (MPL-2.0), which is fetched and never part of the project.
const axe = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.3.tgz"

// fetchAxe returns its script. Tests that need it are skipped without network.
func fetchAxe(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, axe, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Skip("axe-core cannot be fetched: ", err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		t.Fatal("there is no ", axe)
	case answer.StatusCode != http.StatusOK:
		t.Skip("axe-core cannot be fetched: ", answer.Status) // a proxy's word
	}
	zipped, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal("axe-core cannot be read: ", err)
	}
	for files := tar.NewReader(zipped); ; {
		head, err := files.Next()
		if err != nil {
			t.Fatal("axe-core cannot be read: ", err)
		}
		if head.Name == "package/axe.min.js" {
			data, err := io.ReadAll(files)
			if err != nil {
				t.Fatal("axe-core cannot be read: ", err)
			}
			return string(data)
		}
	}
}

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// The page has no serious or critical fault that axe-core finds, in light and in dark.
func TestPageIsAccessible(t *testing.T) {
	b := open(t)
	script := fetchAxe(t)
	for _, scheme := range []string{"light", "dark"} {
		b.run(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}}))
		for name, r := range map[string]*report.Report{"rich": rich(), "crowded": crowded()} {
			b.show(t, r)
			var found string
			b.run(t, cdppage.SetBypassCSP(true), chromedp.Evaluate(script+";0", nil),
				chromedp.Evaluate(`axe.run().then((r) => JSON.stringify(r.violations.filter((v) => ["serious", "critical"].includes(v.impact))
					.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html + " " + n.failureSummary)])))`, &found, awaited))
			var list []any
			if err := json.Unmarshal([]byte(found), &list); err != nil || len(list) > 0 {
				t.Errorf("%s, %s: %v %s", name, scheme, err, found)
			}
		}
	}
}

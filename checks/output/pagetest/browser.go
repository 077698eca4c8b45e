// Package pagetest looks at pages with a real browser, for tests.
package pagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// lifetime is how long a browser runs at most: a test that hangs fails, and leaves none behind.
const lifetime = 5 * time.Minute

// Sizes are the widths at which pages are read, in pixels; Schemes are the colors that people choose.
var (
	Sizes   = []int64{360, 768, 1280}
	Schemes = []string{"light", "dark"}
)

// Tab is a page in a browser, and what the browser said of it.
type Tab struct {
	ctx context.Context

	mu   sync.Mutex
	seen Seen
}

// Until waits until a script says true, or fails: what is what should have become true.
func (b *Tab) Until(t *testing.T, script, what string) {
	t.Helper()
	if err := chromedp.Run(b.ctx, chromedp.Poll(script, nil)); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Seen is what a browser did for a page.
type Seen struct {
	Requests []string // addresses that were asked for
	Logged   []string // what the console has: refusals of the page's policy, failures to load, exceptions
	Dialogs  int
}

// Open starts a browser, which ends with the test. A test that needs one is skipped where there is none, and by -short.
func Open(t *testing.T) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long")
	}
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
	bounded, cancel := context.WithTimeout(t.Context(), lifetime)
	t.Cleanup(cancel)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute))
	allocated, cancel := chromedp.NewExecAllocator(bounded, options...)
	t.Cleanup(cancel)
	return newTab(t, allocated)
}

// Other is a tab of the same browser that has nothing of this one, cookies least of all: that of another person.
func (b *Tab) Other(t *testing.T) *Tab {
	t.Helper()
	whole := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	person, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(whole)
	if err != nil {
		t.Fatal(err)
	}
	// In a window of its own: without one, a browser that shows none has no place for it.
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(person).WithNewWindow(true).Do(whole)
	if err != nil {
		t.Fatal(err)
	}
	return newTab(t, b.ctx, chromedp.WithTargetID(id))
}

func newTab(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	t.Cleanup(cancel)
	b := &Tab{ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.seen.Requests = append(b.seen.Requests, e.Request.URL)
		case *cdplog.EventEntryAdded:
			b.seen.Logged = append(b.seen.Logged, e.Entry.Text)
		case *runtime.EventExceptionThrown:
			b.seen.Logged = append(b.seen.Logged, e.ExceptionDetails.Error())
		case *cdppage.EventJavascriptDialogOpening:
			b.seen.Dialogs++
			go func() { _ = chromedp.Run(ctx, cdppage.HandleJavaScriptDialog(true)) }() // else the page hangs
		}
	})
	// Pages of ours name their icon; what stands for other sites has none, and is not to be asked for it.
	b.Run(t, network.Enable(), network.SetBlockedURLs([]string{"*/favicon.ico"}), cdplog.Enable(), runtime.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(`window.pwned = () => { window.ran = true }`).Do(ctx)
		return err
	}))
	return b
}

// Markup is what of a page could run or load something.
type Markup struct {
	Scripts  int  // elements
	Elements int  // that load something, lead elsewhere by themselves, or are not of HTML; the page's own style, forms and charts not counted
	Handlers int  // elements with attributes that run
	Ran      bool // one of Scripts did
}

// Markup looks at the page that is shown.
func (b *Tab) Markup(t *testing.T) (m Markup) {
	t.Helper()
	b.Run(t, chromedp.Evaluate(`({
		scripts: document.querySelectorAll("script").length,
		elements: document.querySelectorAll("img,iframe,object,embed,base,math,template,link:not(head > [rel=stylesheet]):not(head > [rel=icon]),meta:not(head > *)," +
			"svg:not(.chart > svg, .spark),style:not(head > style)," +
			"title:not(head > title, rect > title, .chart > svg > title, .spark > title)," +
			"form:not([method=dialog]):not(header > form)").length,
		handlers: Array.from(document.querySelectorAll("*")).filter((e) => e.getAttributeNames().some((n) => n.startsWith("on"))).length,
		ran: "ran" in window,
	})`, &m))
	return m
}

// Run has the browser do something.
func (b *Tab) Run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// Text is what a script comes to.
func (b *Tab) Text(t *testing.T, script string) (text string) {
	t.Helper()
	b.Run(t, chromedp.Evaluate(`String(`+script+`)`, &text))
	return text
}

// Forget begins anew with what Seen tells.
func (b *Tab) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = Seen{}
}

// Seen is what the browser did since Forget.
func (b *Tab) Seen() Seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Seen{slices.Clone(b.seen.Requests), slices.Clone(b.seen.Logged), b.seen.Dialogs}
}

// Scheme has the reader prefer light or dark.
func (b *Tab) Scheme(t *testing.T, scheme string) {
	t.Helper()
	b.Run(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}}))
}

// Width makes the window so wide.
func (b *Tab) Width(t *testing.T, width int64) {
	t.Helper()
	b.Run(t, emulation.SetDeviceMetricsOverride(width, 900, 1, false))
}

// Fits requires that the page that is shown is not scrolled sideways at any of the widths, and keeps pictures of it if
// LINTEL_SCREENSHOTS names a folder for them: name-scheme-width.png.
func (b *Tab) Fits(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("LINTEL_SCREENSHOTS")
	for _, scheme := range Schemes {
		if scheme != Schemes[0] && folder == "" {
			break // what fits in one fits in the other
		}
		b.Scheme(t, scheme)
		for _, width := range Sizes {
			b.Width(t, width)
			var wide, inner int64
			b.Run(t, chromedp.Evaluate(`document.scrollingElement.scrollWidth`, &wide),
				chromedp.Evaluate(`document.documentElement.clientWidth`, &inner))
			if wide > inner {
				t.Errorf("%s at %d: %d wide", name, width, wide)
			}
			if folder != "" {
				b.picture(t, filepath.Join(folder, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)))
			}
		}
	}
}

// maxPicture is how high a picture is at most, in pixels.
const maxPicture = 6000

// picture keeps what is shown, from its top.
func (b *Tab) picture(t *testing.T, file string) {
	t.Helper()
	var width, height int64
	var data []byte
	b.Run(t, chromedp.Evaluate(`document.documentElement.clientWidth`, &width),
		chromedp.Evaluate(`document.scrollingElement.scrollHeight`, &height), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			data, err = cdppage.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&cdppage.Viewport{
				Width: float64(width), Height: float64(min(height, maxPicture)), Scale: 1}).Do(ctx)
			return err
		}))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

package pagetest

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is https://github.com/dequelabs/axe-core (MPL-2.0), which is fetched and never part of the project.
const axe = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.3.tgz"

// FetchAxe returns its script. Tests that need it are skipped without network.
func FetchAxe(t *testing.T) string {
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

// Accessible requires that the page that is shown has no serious or critical fault that axe-core finds, in light and in
// dark. The script is that of FetchAxe.
func (b *Tab) Accessible(t *testing.T, script, name string) {
	t.Helper()
	for _, scheme := range Schemes {
		b.Scheme(t, scheme)
		var found string
		b.Run(t, chromedp.Evaluate(script+";0", nil),
			chromedp.Evaluate(`axe.run().then((r) => JSON.stringify(r.violations.filter((v) => ["serious", "critical"].includes(v.impact))
				.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html + " " + n.failureSummary)])))`, &found,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		var list []any
		if err := json.Unmarshal([]byte(found), &list); err != nil || len(list) > 0 {
			t.Errorf("%s, %s: %v %s", name, scheme, err, found)
		}
	}
}

package fetch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// repository is a chart repository.
type repository struct {
	mu     sync.Mutex
	files  map[string][]byte
	index  string
	etag   bool
	status int // of all answers; 0: the normal one
}

func newRepository() *repository { return &repository{files: map[string][]byte{}} }

// add packs a chart. The index gives address as its address.
func (r *repository) add(t *testing.T, name, version, says, address string) []byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	data := packed(t, name, version, says)
	r.files[fmt.Sprintf("/charts/%s-%s.tgz", name, version)] = data
	if r.index == "" {
		r.index = "apiVersion: v1\nentries:\n  " + name + ":\n"
	}
	r.index += fmt.Sprintf("  - apiVersion: v2\n    name: %s\n    version: %s\n    digest: %s\n    urls:\n    - %s\n",
		name,
		version, strings.TrimPrefix(sum(data), "sha256:"), address)
	return data
}

func (r *repository) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, ok := r.files[q.URL.Path]
	switch {
	case r.status != 0:
		w.WriteHeader(r.status)
	case q.URL.Path == "/charts/index.yaml":
		tag := fmt.Sprintf("%q", sum([]byte(r.index))[7:20])
		if r.etag && q.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.etag {
			w.Header().Set("ETag", tag)
		}
		_, _ = w.Write([]byte(r.index))
	case ok:
		_, _ = w.Write(data)
	default:
		http.NotFound(w, q)
	}
}

func chartWant(version string) remote.Want {
	return remote.Want{Kind: remote.Chart, URL: "https://charts.example.com/charts", Name: "app", Ref: version}
}

func TestChartRepository(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	data := r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	r.add(t, "app", "1.10.0", "ten", "https://charts.example.com/charts/app-1.10.0.tgz")
	r.add(t, "app", "2.0.0-rc.1", "next", "app-2.0.0-rc.1.tgz")
	n.serve("charts.example.com", r)
	f := n.fetcher("")
	for _, c := range []struct{ ref, version, says string }{
		{"1.2.3", "1.2.3", "one"}, {"v1.2.3", "1.2.3", "one"}, {"", "1.10.0", "ten"}, {"1.x", "1.10.0", "ten"},
		{"~1.2", "1.2.3", "one"}, {">=2.0.0-0", "2.0.0-rc.1", "next"}, {"2.0.0-rc.1", "2.0.0-rc.1", "next"},
	} {
		e := had(t, f, chartWant(c.ref))
		if got := contentOf(t, f, e, "templates/cm.yaml"); got != c.says || e.Revision != c.version || e.Changed != "" {
			t.Errorf("%q: %q, %+v", c.ref, got, e)
		}
		if c.ref == "1.2.3" && e.Digest != sum(data) {
			t.Errorf("digest %s", e.Digest)
		}
	}
	refused(t, f, chartWant("3.x"), true, "no version")
	refused(t, f, chartWant("not a range"), true, "neither")
	other := chartWant("1.2.3")
	other.Name = "other"
	refused(t, f, other, true, "no chart")
	other.Name = "../app"
	refused(t, f, other, true, "cannot be the name")
	n.asked()
	for _, ref := range []string{"1.2.3", "", "1.x"} {
		had(t, f, chartWant(ref))
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("what is known was asked for: %v", got)
	}
	n.pass(time.Hour)
	r.add(t, "app", "1.11.0", "eleven", "app-1.11.0.tgz")
	if e := had(t, f, chartWant("1.x")); e.Revision != "1.11.0" {
		t.Errorf("a range that moved: %+v", e)
	}
	n.asked()
	if had(t, f, chartWant("1.2.3")); len(n.asked()) > 0 {
		t.Error("an exact version was asked for again")
	}
}

func TestIndexIsKept(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.etag = true
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	f := n.fetcher("")
	had(t, f, chartWant("1.x"))
	n.asked()
	n.pass(time.Hour)
	if e := had(t, f, chartWant("1.x")); e.Revision != "1.2.3" {
		t.Errorf("got %+v", e)
	}
	if got := n.asked(); !slices.Equal(got, []string{"GET https://charts.example.com/charts/index.yaml"}) {
		t.Errorf("asked %v", got)
	}
}

// A version that the cached index does not have makes the index be fetched again at once: whoever releases a chart uses
// it right after.
func TestVersionIsNewerThanTheIndex(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	f := n.fetcher("")
	had(t, f, chartWant("1.2.3"))
	r.add(t, "app", "1.2.4", "two", "app-1.2.4.tgz")
	n.pass(10 * time.Second)
	if e := had(t, f, chartWant("1.2.4")); e.Revision != "1.2.4" {
		t.Errorf("got %+v", e)
	}
	n.asked()
	refused(t, f, chartWant("1.2.5"), true, "no version")
	if got := n.asked(); len(got) > 0 {
		t.Errorf("asked again at once: %v", got)
	}
}

// A version whose content has changed is reported, even if the store was cleaned up in between.
func TestDigestChanges(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	first := r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	f := n.fetcher("")
	had(t, f, chartWant("1.2.3"))
	r.index = ""
	r.add(t, "app", "1.2.3", "another", "app-1.2.3.tgz")
	n.pass(200 * 24 * time.Hour)
	if err := f.o.Store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := had(t, f, chartWant("1.2.3"))
	if e.Changed != sum(first) || contentOf(t, f, e, "templates/cm.yaml") != "another" {
		t.Errorf("got %+v", e)
	}
	r.mu.Lock()
	r.files["/charts/app-1.2.3.tgz"] = first
	r.mu.Unlock()
	f.o.Recheck = time.Hour
	n.pass(2 * time.Hour)
	// The index has the digest of the second one, and nothing was fetched.
	had(t, f, chartWant("1.2.3"))
	r.index = strings.ReplaceAll(r.index, e.Digest[7:], strings.Repeat("0", 64))
	n.pass(2 * time.Hour)
	refused(t, f, chartWant("1.2.3"), true, "the digest that its repository lists")
}

func TestRepositoryFails(t *testing.T) {
	for _, c := range []struct {
		status int
		broken bool
		words  string
	}{
		{404, true, "404"}, {410, true, "410"}, {401, false, "401"}, {403, false, "403"}, {503, false, "503"},
		{429, false, "429"}, {418, false, "418"},
	} {
		n := newInternet(t)
		r := newRepository()
		r.status = c.status
		n.serve("charts.example.com", r)
		f := n.fetcher("")
		refused(t, f, chartWant("1.2.3"), c.broken, c.words)
		if tries := len(n.asked()); (tries == 3) != (c.status == 503 || c.status == 429) {
			t.Errorf("%d: %d tries", c.status, tries)
		}
		refused(t, f, chartWant("1.2.3"), c.broken, c.words)
		if len(n.asked()) > 0 {
			t.Errorf("%d: a failure was asked for again at once", c.status)
		}
		n.pass(time.Minute)
		r.mu.Lock()
		r.status = 0
		r.mu.Unlock()
		r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
		had(t, f, chartWant("1.2.3"))
	}
	n := newInternet(t)
	n.serve("other.example.com", newRepository())
	refused(t, n.fetcher(""), chartWant("1.2.3"), false, "not known")
}

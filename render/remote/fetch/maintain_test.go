package fetch

import (
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// If nobody else cleans up the store, such as on a laptop, fetching does, and still works.
func TestFetchingMaintains(t *testing.T) {
	n := newInternet(t)
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	r.add(t, "app", "1.3.0", "three", "app-1.3.0.tgz")
	n.serve("charts.example.com", r)
	s, err := remote.OpenStore(t.Context(), remote.StoreOptions{Dir: t.TempDir(), Clock: n.clock, MaxBytes: 1, InUse: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	f := n.fetcher("", func(o *Options) { o.Store = s })
	had(t, f, chartWant("1.2.3"))
	n.pass(2 * time.Hour)
	had(t, f, chartWant("1.3.0"))
	offline := n.fetcher("", func(o *Options) { o.Store, o.Offline = s, true })
	had(t, offline, chartWant("1.3.0"))
	refused(t, offline, chartWant("1.2.3"), false, "it is not in the source cache")
}

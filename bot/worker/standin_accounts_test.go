package worker_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestStandinAccounts has one server work for two organizations that installed a public App, and not for a third: that one
// is answered, and gets nothing, neither from webhooks nor from the sweep.
func TestStandinAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	skipWithoutStandin(t)
	t.Parallel()
	binary := buildLintel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := startStandin(ctx, t)
	p := launch(t, binary, t.TempDir(), append([]string{"LINTEL_GITHUB_URL=" + s.base, "LINTEL_ACCOUNTS=One-Org, two-org",
		"LINTEL_SWEEP_INTERVAL=1s"}, unconfigured...)...)
	p.register("one-org", url.Values{"public": {"yes"}})
	h := &hall{standin: s, server: p, files: folderFiles(t, sampleRepo)}
	served := []*standin{h.in(t, "one-org"), h.in(t, "two-org")}
	stranger := h.in(t, "mallory-org")
	late := stranger.push("change", stranger.broken())
	stranger.pull("change")
	for _, s := range served {
		s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
	}
	// A sweep that began after all of that has come by.
	sweeps := func() int {
		var asked []fields
		s.control(http.MethodGet, "/requests?op=apps/list-installations", nil, &asked)
		return len(asked)
	}
	seen := sweeps()
	p.await("does not sweep", func() bool { return sweeps() > seen+1 })
	s.control(http.MethodGet, "/wait?idle=1", nil, nil)
	var runs []standinRun
	s.control(http.MethodGet, "/check-runs?repo="+stranger.repo+"&sha="+late, nil, &runs)
	if len(runs) != 0 {
		t.Errorf("the stranger has check runs: %+v", runs)
	}
	var asked []fields
	s.control(http.MethodGet, "/requests", nil, &asked)
	for _, r := range asked {
		if path, _ := r["path"].(string); strings.Contains(path, "mallory-org") {
			t.Errorf("the stranger's repository was asked for: %v", r)
		}
	}
	var deliveries []fields
	s.control(http.MethodGet, "/deliveries?event=pull_request", nil, &deliveries)
	if len(deliveries) < 3 {
		t.Errorf("deliveries: %v", deliveries)
	}
	for _, d := range deliveries {
		if code, _ := d["status_code"].(float64); code != http.StatusAccepted {
			t.Errorf("answered %v", d)
		}
	}
	res, err := http.Get(p.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	metrics, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(metrics), "\nlintel_webhooks_unserved_total ") ||
		strings.Contains(string(metrics), "\nlintel_webhooks_unserved_total 0\n") {
		t.Errorf("nothing is counted: %v", err)
	}
	if !strings.Contains(p.logs.String(), `"account":"mallory-org"`) {
		t.Error("nothing is logged")
	}
	s.clean()
}

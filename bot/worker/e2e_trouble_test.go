package worker_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// trouble: what GitHub and the network do on bad days. Each head gets exactly one check run all the same.
func trouble(t *testing.T, binary string) {
	hub := newHub(t)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	for i, tc := range []struct {
		name  string
		fault githubtest.Fault
	}{
		{"created, answer lost", githubtest.Fault{Method: http.MethodPost, Path: "/check-runs",
			Status: http.StatusBadGateway, Commit: true}},
		{"updated, answer lost", githubtest.Fault{Method: http.MethodPatch, Path: "/check-runs",
			Status: http.StatusBadGateway, Commit: true}},
		{"answer cut", githubtest.Fault{Method: http.MethodPatch, Path: "/check-runs", Truncate: true}},
		{"connection reset", githubtest.Fault{Path: "/pulls/1", Reset: true}},
		{"secondary limit", githubtest.SecondaryLimit(time.Second)},
		{"git does not answer", githubtest.Fault{Git: true, Status: http.StatusBadGateway}},
		{"git is cut in the pack", githubtest.Fault{Git: true, Skip: 2, Truncate: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hub.ClearFaults()
			s := newScene(t, hub, fmt.Sprintf("octo-org/trouble-%d", i), sampleRepo)
			hub.Inject(tc.fault)
			begun := make(chan struct{})
			updates := tc.fault.Method == http.MethodPatch
			if updates { // a check run is updated only if it was there before the result
				hub.Inject(githubtest.Fault{Git: true, Hang: true, Release: begun})
			}
			head := s.push("change", map[string]string{patchPath: read(t, sampleChange, patchPath)})
			s.open("change")
			if updates {
				s.await(head, func(r githubtest.Run) bool { return r.Status == "in_progress" })
			}
			close(begun)
			run := s.completed(head)
			if n := hub.Pending(); n > 0 {
				t.Errorf("%d faults did not happen", n)
			}
			if runs := hub.Runs(s.repo); len(runs) != 1 || run.Conclusion != "failure" || len(run.Annotations) != 2 {
				t.Errorf("%d check runs, the last one:\n%s", len(runs), show(run))
			}
		})
	}
	clean(t, hub)
}

// lostWebhook: the only webhook of a pull request never arrives; the sweep finds it.
func lostWebhook(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_SWEEP_INTERVAL=1s")
	hub.SetHook(p.url + "/webhook")
	hub.TamperHook(githubtest.HookFault{Event: "pull_request", Do: githubtest.Drop})
	head := s.pushOpen("change")
	if run := s.completed(head); run.Conclusion != "success" {
		t.Errorf("the run:\n%s", show(run))
	}
	clean(t, hub)
}

// rateLimits: one installation at its limit is left in peace until it is over, and costs the others nothing.
func rateLimits(t *testing.T, binary string) {
	hub := newHub(t)
	busy := newScene(t, hub, "busy-org/fleet", sampleRepo)
	quiet := newScene(t, hub, "quiet-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_SWEEP_INTERVAL=1h")
	if err := hub.WaitRequest(busy.ctx, "/repos/quiet-org/fleet/pulls"); err != nil { // of the first sweep
		t.Fatal(err)
	}
	hub.SetHook(p.url + "/webhook")
	begun := time.Now()
	quiet.completed(quiet.pushOpen("warm"))
	// The pushes and the check below must fit into the limit on a machine of any speed.
	limit := max(6*time.Second, 8*time.Since(begun)).Round(time.Second)
	hub.Inject(func() githubtest.Fault { f := githubtest.SecondaryLimit(limit); f.Path = "/repos/busy-org/"; return f }())
	before := len(hub.Requests())
	begun = time.Now()
	var heads []string
	for n := range 12 {
		heads = append(heads, busy.pushOpen(fmt.Sprintf("change-%d", n)))
	}
	quiet.completed(quiet.pushOpen("change"))
	if took := time.Since(begun); took < limit {
		asked := 0
		for _, r := range hub.Requests()[before:] {
			if strings.HasPrefix(r.Path, "/repos/busy-org/") {
				asked++
			}
		}
		// The one that met the limit, and one that was under way beside it.
		if asked > 2 {
			t.Errorf("the installation was asked %d times while it was to be left in peace", asked)
		}
		t.Logf("the other installation's check took %s, with %d requests to the limited one", took.Round(time.Millisecond),
			asked)
	} else {
		t.Errorf("the other installation waited for %s", took)
	}
	for _, head := range heads {
		busy.completed(head)
	}
	if took := time.Since(begun); took < limit {
		t.Errorf("everything was done after %s, within the limit", took)
	}
	if runs := hub.Runs(busy.repo); len(runs) != len(heads) {
		t.Errorf("%d check runs for %d heads", len(runs), len(heads))
	}
	clean(t, hub)
}

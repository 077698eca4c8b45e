package github

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
)

func completed(n int) *forge.CheckRun {
	return &forge.CheckRun{HeadSHA: head, Status: "completed", Conclusion: "failure", ExternalID: "pr-1/abc", Title: "T",
		Summary: "S", Annotations: manyAnnotations(n)}
}

// inOrder checks that a run has n annotations, each once and in order.
func inOrder(t *testing.T, run *hubRun, n int) {
	t.Helper()
	if len(run.Annotations) != n {
		t.Fatalf("%d annotations, want %d", len(run.Annotations), n)
	}
	for i, a := range run.Annotations {
		if a.Message != fmt.Sprintf("finding %d", i) {
			t.Fatalf("annotation %d is %q", i, a.Message)
		}
	}
}

func TestPublishBatches(t *testing.T) {
	for _, n := range []int{0, 1, 50, 51, 100, 120} {
		h := newHub(t)
		run := completed(n)
		if err := h.app().Publish(t.Context(), testRepo, run); err != nil {
			t.Fatal(err)
		}
		got := h.runs[run.ID]
		inOrder(t, got, n)
		if got.completedWith != n {
			t.Errorf("%d: completed when %d annotations were there", n, got.completedWith)
		}
		if got.Conclusion != "failure" || got.Summary != "S" || got.ExternalID != "pr-1/abc" || got.Name != "Lintel" {
			t.Errorf("%d: %+v", n, got)
		}
	}
}

// TestPublishLostAnswers loses the answer to each write in turn, once after executing it and once before, and repeats
// the call as a job would.
func TestPublishLostAnswers(t *testing.T) {
	const n = 130
	for lost := range 6 {
		for _, carriedOut := range []bool{true, false} {
			h := newHub(t)
			var writes atomic.Int32 // a request whose answer is lost ends when it likes
			h.fault = func(_ int, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
				if (r.Method == "POST" || r.Method == "PATCH") && strings.Contains(r.URL.Path, "/check-runs") {
					if int(writes.Add(1)) == lost+1 {
						if carriedOut {
							next(httptest.NewRecorder(), r)
						}
						panic(http.ErrAbortHandler)
					}
				}
				next(w, r)
			}
			queued := &forge.CheckRun{HeadSHA: head, Status: "in_progress", ExternalID: "pr-1/"}
			var run *forge.CheckRun
			for try := 0; ; try++ {
				app := h.app() // a new process knows nothing
				run = completed(n)
				first := *queued
				err := app.Publish(t.Context(), testRepo, &first)
				if err == nil {
					run.ID = first.ID
					err = app.Publish(t.Context(), testRepo, run)
				}
				if err == nil {
					break
				}
				if try == 2 {
					t.Fatal(err)
				}
			}
			if len(h.runs) != 1 {
				t.Errorf("lost %d (%v): %d runs", lost, carriedOut, len(h.runs))
			}
			inOrder(t, h.runs[run.ID], n)
		}
	}
}

func TestPublishAgainWithTheSameDigest(t *testing.T) {
	h := newHub(t)
	first, again := completed(60), completed(60)
	if err := h.app().Publish(t.Context(), testRepo, first); err != nil {
		t.Fatal(err)
	}
	if err := h.app().Publish(t.Context(), testRepo, &forge.CheckRun{HeadSHA: head, Status: "in_progress",
		ExternalID: "pr-1/"}); err != nil {
		t.Fatal(err)
	}
	if h.runs[first.ID].Status != "in_progress" {
		t.Error("a re-run does not show")
	}
	if err := h.app().Publish(t.Context(), testRepo, again); err != nil {
		t.Fatal(err)
	}
	if again.ID != first.ID || h.runs[first.ID].Status != "completed" {
		t.Errorf("%d, want %d: %+v", again.ID, first.ID, h.runs[first.ID])
	}
	inOrder(t, h.runs[first.ID], 60)

	// Another result has no annotations: those of the old one cannot stay.
	clean := completed(0)
	clean.ID, clean.Conclusion, clean.ExternalID = first.ID, "success", "pr-1/def"
	if err := h.app().Publish(t.Context(), testRepo, clean); err != nil {
		t.Fatal(err)
	}
	if clean.ID == first.ID || h.runs[clean.ID].Conclusion != "success" || h.runs[first.ID].Conclusion != "failure" {
		t.Errorf("%+v, %+v", h.runs[first.ID], h.runs[clean.ID])
	}
}

// An older run never gets a result, even if it has the same one already, since GitHub decides by the newest.
func TestPublishGoesToTheNewest(t *testing.T) {
	for _, newer := range []string{"pr-1/other", "pr-1+again/abc", "pr-2/abc", "of another version"} {
		h := newHub(t)
		h.runs[1] = &hubRun{ID: 1, Name: "Lintel", HeadSHA: head, ExternalID: "pr-1/abc", Status: "completed",
			Conclusion: "failure"}
		h.runs[2] = &hubRun{ID: 2, Name: "Lintel", HeadSHA: head, ExternalID: newer, Status: "completed",
			Conclusion: "success"}
		h.runs[3] = &hubRun{ID: 3, Name: "Lintel (branch)", HeadSHA: head, ExternalID: "branch-61/abc", Status: "completed",
			Conclusion: "success"}
		run := completed(0)
		if err := h.app().Publish(t.Context(), testRepo, run); err != nil {
			t.Fatal(err)
		}
		if run.ID <= 3 || h.runs[run.ID].Conclusion != "failure" || h.runs[2].Conclusion != "success" {
			t.Errorf("below %s: took run %d", newer, run.ID)
		}
		again := completed(0)
		if err := h.app().Publish(t.Context(), testRepo, again); err != nil || again.ID != run.ID {
			t.Errorf("above %s: took run %d, want %d again: %v", newer, again.ID, run.ID, err)
		}
	}
}

func TestPublishOtherDigest(t *testing.T) {
	h := newHub(t)
	half := &hubRun{ID: 1, Name: "Lintel", HeadSHA: head, ExternalID: "pr-1/old", Status: "in_progress",
		Annotations: []hubAnnotation{{"stale"}}}
	other := &hubRun{ID: 2, Name: "Lintel", HeadSHA: head, ExternalID: "pr-2/x", Status: "in_progress"}
	h.runs[1], h.runs[2] = half, other
	run := completed(3)
	if err := h.app().Publish(t.Context(), testRepo, run); err != nil {
		t.Fatal(err)
	}
	if run.ID == 1 || run.ID == 2 {
		t.Fatalf("took run %d", run.ID)
	}
	inOrder(t, h.runs[run.ID], 3)
	if half.Status != "completed" || half.Conclusion != "cancelled" {
		t.Errorf("the unfinished run of the same subject stays open: %+v", half)
	}
	if other.Status != "in_progress" {
		t.Error("the run of another subject was touched")
	}
}

func TestPublishConclusionWithoutProse(t *testing.T) {
	h := newHub(t)
	bad := completed(3)
	bad.Summary = "REFUSE"
	if err := h.app().Publish(t.Context(), testRepo, bad); err != nil {
		t.Fatal(err)
	}
	if got := h.runs[bad.ID]; got.Conclusion != "failure" || !strings.Contains(got.Summary, "3 annotations") {
		t.Errorf("%+v", got)
	}
	h = newHub(t)
	batch := completed(120)
	batch.Annotations[60].Message = "REFUSE"
	if err := h.app().Publish(t.Context(), testRepo, batch); err != nil {
		t.Fatal(err)
	}
	if got := h.runs[batch.ID]; got.Conclusion != "failure" || len(got.Annotations) != 50 ||
		!strings.Contains(got.Summary, "70 annotations") {
		t.Errorf("%d annotations: %+v", len(got.Annotations), got)
	}
}

func TestPublishErrors(t *testing.T) {
	h := newHub(t)
	gone := completed(1)
	gone.HeadSHA, gone.ExternalID = strings.Repeat("2", 40), ""
	var g *forge.Gone
	if err := h.app().Publish(t.Context(), testRepo, gone); !errors.As(err, &g) {
		t.Errorf("a commit that is not there: %v", err)
	}
	for _, bad := range []forge.CheckRun{{HeadSHA: head, Status: "completed"},
		{HeadSHA: head, Status: "completed", Conclusion: "stale"}, {HeadSHA: head}, {Status: "queued"},
		{HeadSHA: head, Status: "queued", Conclusion: "success"}} {
		if err := h.app().Publish(t.Context(), testRepo, &bad); err == nil {
			t.Errorf("accepted: %+v", bad)
		}
	}
}

// A temporary error costs a moment: reads are repeated, and an update continues where it was interrupted.
func TestBadMoments(t *testing.T) {
	for lost := 1; lost <= 8; lost++ {
		for _, carriedOut := range []bool{false, true} {
			h := newHub(t)
			app := h.app()
			run := &forge.CheckRun{HeadSHA: head, Status: "in_progress", ExternalID: "pr-1/begun"}
			if err := app.Publish(t.Context(), testRepo, run); err != nil {
				t.Fatal(err)
			}
			begun := h.requests
			h.fault = func(n int, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
				if n != begun+lost {
					next(w, r)
					return
				}
				if carriedOut {
					next(httptest.NewRecorder(), r)
				}
				w.WriteHeader(http.StatusBadGateway)
			}
			result := completed(120)
			result.ID = run.ID
			if err := app.Publish(t.Context(), testRepo, result); err != nil {
				t.Fatalf("answer %d lost: %v", lost, err)
			}
			if len(h.runs) != 1 {
				t.Errorf("answer %d lost (%v): %d runs", lost, carriedOut, len(h.runs))
			}
			inOrder(t, h.runs[result.ID], 120)
		}
	}
	// GitHub is asked a limited number of times, and not before it allows it.
	h := newHub(t)
	app := h.app()
	h.answer("GET /repos/octo/svc", 502, nil)
	if _, err := app.Repository(t.Context(), testRepo); err == nil || h.requests != 1+attempts { // with the token
		t.Errorf("%v after %d requests", err, h.requests)
	}
	before := h.requests
	h.set(func() {
		h.answers["GET /repos/octo/svc"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			reply(w, 503, nil)
		}
	})
	var later *forge.RetryLater
	if _, err := app.Repository(t.Context(), testRepo); !errors.As(err, &later) || h.requests != before+1 {
		t.Errorf("%v after %d requests", err, h.requests-before)
	}
}

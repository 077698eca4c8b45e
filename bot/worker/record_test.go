package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// resultsDouble keeps results in memory.
type resultsDouble struct {
	kept      []*results.Stored
	published map[string]int64
	address   string
	err       error
}

func (r *resultsDouble) Record(_ context.Context, s *results.Stored) (string, error) {
	if r.err != nil {
		return "", r.err
	}
	r.kept = append(r.kept, s)
	return r.address, nil
}

func (r *resultsDouble) Overview(forge.Repository) string { return r.address }

func (r *resultsDouble) Published(_ context.Context, s *results.Stored, checkRun int64) error {
	if r.published == nil {
		r.published = map[string]int64{}
	}
	r.published[s.ID] = checkRun
	return nil
}

const pageAddress = "https://lintel.example.com/r/octo-org/fleet/x/y"

func TestResultIsKept(t *testing.T) {
	b := newBench(t)
	kept := &resultsDouble{address: pageAddress}
	b.Results = kept
	b.pr.Title, b.pr.HeadRef = "Change", "change"
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 1 || b.last(t).DetailsURL != pageAddress {
		t.Fatalf("%d results, details_url %q", len(kept.kept), b.last(t).DetailsURL)
	}
	r := kept.kept[0]
	if r.Repository.ID != 11 || r.Repository.Installation != 7 || r.Repository.String() != "octo-org/fleet" ||
		r.Pull == nil || r.Pull.Number != 12 || r.Pull.Title != "Change" || r.Head != headA || r.Base != "base" ||
		r.Rules != baseTip || r.Conclusion != report.Success || r.CheckRun != b.last(t).ID || r.Report == nil ||
		!strings.Contains(r.Command, "--base "+baseTip+" --head "+headA) || r.Completed.IsZero() ||
		r.ID != results.ID(b.last(t).ExternalID) {
		t.Errorf("%+v", r.Meta)
	}
	// The same job again, as after a crash: the same id, so that nothing is doubled.
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 2 || kept.kept[1].ID == r.ID || len(b.hub.Runs) != 2 {
		t.Errorf("a fresh run has the page of the one before: %s", kept.kept[1].ID)
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 3 || kept.kept[2].ID != kept.kept[1].ID {
		t.Errorf("the same job has another id: %s, %s", kept.kept[1].ID, kept.kept[2].ID)
	}
}

// An error of the store does not affect the check run: it is complete, with GitHub's own link.
func TestResultIsNotKept(t *testing.T) {
	for name, set := range map[string]func(b *bench, kept *resultsDouble){
		"the store fails":    func(_ *bench, kept *resultsDouble) { kept.err = errors.New("no servers") },
		"it failed before":   func(_ *bench, kept *resultsDouble) { kept.err = results.ErrPaused },
		"nobody may read it": func(_ *bench, kept *resultsDouble) { kept.address = "" },
		"GitHub is silent": func(b *bench, _ *resultsDouble) {
			b.refuse("Repository", &forge.RetryLater{After: time.Minute})
		},
		"there is no store": func(b *bench, _ *resultsDouble) { b.Results = nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			kept := &resultsDouble{address: pageAddress}
			b.Results = kept
			set(b, kept)
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if run := b.last(t); run.Conclusion != "success" || run.DetailsURL != "" {
				t.Errorf("%+v", run)
			}
		})
	}
}

// The report of the default branch is kept, too.
func TestBranchResultIsKept(t *testing.T) {
	b := newBench(t)
	kept := &resultsDouble{address: pageAddress}
	b.Results = kept
	b.hub.Tips = map[string]string{"main": baseTip}
	b.task.Key = store.Key{Installation: 7, Repository: 11, Target: forge.Target{Branch: "main"}}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 1 || kept.kept[0].Branch != "main" || kept.kept[0].Pull != nil || kept.kept[0].Head != baseTip {
		t.Fatalf("%+v", kept.kept)
	}
	if b.last(t).DetailsURL != pageAddress {
		t.Errorf("details_url %q", b.last(t).DetailsURL)
	}
}

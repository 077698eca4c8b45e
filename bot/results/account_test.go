package results

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// account stores repositories, each with a report of its default branch with the given number of violations.
func account(t *testing.T, h *house, private bool, blocking ...int) {
	t.Helper()
	for i, n := range blocking {
		r := branchResult("x", headA, clock)
		r.Repository = forge.Repository{Repo: forge.Repo{ID: int64(i + 1), Installation: 7, Owner: "octo", Name: fmt.Sprintf("r%03d", i+1)}, Private: private}
		r.Report.Findings = nil
		for range n {
			r.Report.Findings = append(r.Report.Findings, report.Finding{Policy: "p", Result: report.Fail, Blocks: true})
		}
		put(t, h.store, r)
	}
}

// The page of an account lists the repositories with the most violations first, and only those that the reader may see,
// wherever they are in the store.
func TestRepositoriesOfAnAccount(t *testing.T) {
	const count = maxShown + 70
	for name, c := range map[string]struct {
		seen  func(id int64) Level
		shown int
		first string
		asked int
	}{
		"reader sees all":             {func(int64) Level { return Public }, maxShown, "r120 r119 r118", maxShown + asking},
		"reader sees only the last":   {func(id int64) Level { return Level(max(0, 4-id)) }, 3, "r003 r002 r001", count},
		"reader sees every other one": {func(id int64) Level { return Level(id % 2) }, maxShown, "r119 r117", 112},
		"reader sees none":            {func(int64) Level { return Hidden }, 0, "", count},
	} {
		h := newHouse(t, Config{})
		var blocking []int
		for i := range count {
			blocking = append(blocking, i)
			h.guard.seen[int64(i+1)] = c.seen(int64(i + 1))
		}
		account(t, h, false, blocking...)
		h.guard.asked = nil
		w := h.ask(http.MethodGet, "/o/octo")
		if c.shown == 0 {
			if w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
			continue
		}
		_, list, _ := strings.Cut(w.Body.String(), ": ")
		if !strings.HasPrefix(list, c.first) || len(strings.Fields(list)) != c.shown || len(h.guard.asked) > c.asked {
			t.Errorf("%s: %d repositories, asked for %d: %s", name, len(strings.Fields(list)), len(h.guard.asked), list)
		}
	}
}

// GitHub is not asked about each private repository for a reader who is not signed in.
func TestPrivateRepositoriesOfAnAccount(t *testing.T) {
	h := newHouse(t, Config{})
	account(t, h, true, 1, 2, 3)
	for id := range int64(4) {
		h.guard.seen[id] = Private
	}
	if w := h.ask(http.MethodGet, "/o/octo"); w.Code != http.StatusNotFound || len(h.guard.asked) > 0 {
		t.Errorf("%d, asked for %v", w.Code, h.guard.asked)
	}
	h.guard.signed = true
	w := h.ask(http.MethodGet, "/o/octo")
	if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "private, no-store" || len(h.guard.asked) != 3 {
		t.Errorf("%d, %v, asked for %v", w.Code, w.Header(), h.guard.asked)
	}
	account(t, h, true, make([]int, maxAsked+20)...)
	h.guard.asked = nil
	h.later(accountLife)
	if h.ask(http.MethodGet, "/o/octo"); len(h.guard.asked) > maxAsked {
		t.Errorf("asked for %d", len(h.guard.asked))
	}
}

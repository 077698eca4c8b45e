package results

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// previewOn stores a preview of the shop's pull request n in another repository, and returns the path of its page.
func (h *house) previewOn(t *testing.T, n int, id int64, name, external string) string {
	t.Helper()
	r := resultOf(external, headB, clock.Add(time.Duration(n)*time.Minute))
	r.Pull, r.Of, r.Title = nil, &PreviewOf{shop(), n}, external
	r.Repository = forge.Repository{Repo: forge.Repo{ID: id, Installation: 7, Owner: "Octo-Org", Name: name}, Private: h.guard.seen[id] == Private}
	put(t, h.store, r)
	return r.Path()
}

// The page of a repository links the previews of its pull requests in those other repositories that the reader may see.
func TestRepositoryPageLinksPreviews(t *testing.T) {
	h := newHouse(t, Config{})
	h.guard.signed = true
	h.guard.seen = map[int64]Level{11: Private, 21: Private, 22: Hidden, 23: Public}
	put(t, h.store, resultOf("own", headA, clock))
	page := h.previewOn(t, 12, 21, "a", "one")
	h.previewOn(t, 12, 22, "secret", "two")
	h.previewOn(t, 12, 23, "c", "three")
	h.previewOn(t, 3, 21, "a", "old")
	h.previewOn(t, 12, 21, "a", "four") // replaces the preview before
	ask := func(want string, private bool) {
		t.Helper()
		h.later(time.Minute)
		w := h.ask(http.MethodGet, "/o/octo-org/fleet.gitops")
		if got := w.Body.String()[strings.LastIndex(w.Body.String(), "; ")+2:]; w.Code != http.StatusOK || got != want {
			t.Errorf("%d %q, want %q", w.Code, got, want)
		}
		if is := w.Header().Get("Cache-Control") == "private, no-store"; is != private {
			t.Errorf("private: %t, want %t", is, private)
		}
	}
	ask("12 a four, 12 c three, 3 a old", true)
	h.guard.seen = map[int64]Level{11: Public, 23: Public}
	h.guard.signed = false
	ask("12 c three", false)
	h.guard.seen[21], h.guard.signed = Private, true
	ask("12 a four, 12 c three, 3 a old", true)
	if w := h.ask(http.MethodGet, page); w.Code != http.StatusOK {
		t.Errorf("an older one: %d", w.Code)
	}
	// Removed repositories are not linked.
	for _, id := range []int64{21, 11} {
		summary, err := h.store.summary(t.Context(), id)
		if err != nil || summary == nil {
			t.Fatal(err)
		}
		if err := h.store.drop(t.Context(), summary); err != nil {
			t.Fatal(err)
		}
		left, err := h.store.Previews(t.Context(), 11)
		if want := map[int64]int{21: 2, 11: 0}[id]; err != nil || len(left) != want {
			t.Errorf("%d are left without %d, want %d: %v", len(left), id, want, err)
		}
	}
	h.index.values["outlook.11.x.y"] = []byte("{}")
	h.index.values[fmt.Sprintf("outlook.11.%d.23", 7)] = []byte("not JSON")
	if list, err := h.store.Previews(t.Context(), 11); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The page of a public repository does not show what a private repository's rules would change.
func TestPreviewHidesPrivateRules(t *testing.T) {
	h := newHouse(t, Config{})
	h.guard.seen = map[int64]Level{23: Public}
	page := h.previewOn(t, 12, 23, "c", "one")
	if w := h.ask(http.MethodGet, page); w.Code != http.StatusNotFound {
		t.Errorf("a stranger: %d", w.Code)
	}
	h.guard.seen[11] = Private
	if w := h.ask(http.MethodGet, page); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("who may read the rules: %d %s", w.Code, w.Header().Get("Cache-Control"))
	}
	// Readers of the private repository see what the pull request would change there.
	h.guard.seen = map[int64]Level{23: Private}
	if w := h.ask(http.MethodGet, page); w.Code != http.StatusOK {
		t.Errorf("a reader: %d", w.Code)
	}
}

package results

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// Source lines of other private repositories are shown only to readers of these repositories; each request is decided
// anew.
func TestForeign(t *testing.T) {
	h := newHouse(t, Config{})
	r := resultOf("x", headA, clock)
	r.Foreign = []Foreign{{Repository: forge.Repository{Repo: forge.Repo{ID: 12, Installation: 1}, Private: true}, URL: "https://a"},
		{Repository: forge.Repository{Repo: forge.Repo{ID: 13, Installation: 1}, Private: true}, URL: "https://b"}, {URL: "https://unknown"}}
	put(t, h.store, r)
	for _, c := range []struct {
		seen map[int64]Level
		fail error
		want string
	}{
		{map[int64]Level{11: Public}, nil, "without [https://a https://b https://unknown]"},
		{map[int64]Level{11: Public, 12: Private}, nil, "without [https://b https://unknown]"},
		{map[int64]Level{11: Public, 12: Private, 13: Public, 0: Public}, nil, "without [https://unknown]"},
		{map[int64]Level{11: Public, 13: Private}, nil, "without [https://a https://unknown]"},
		{map[int64]Level{11: Public}, nil, "without [https://a https://b https://unknown]"},
		{map[int64]Level{12: Private, 13: Private}, nil, "404"},
		{map[int64]Level{11: Public, 12: Private}, errors.New("GitHub is away"), "404"},
	} {
		h.guard.seen, h.guard.err = c.seen, c.fail
		w := h.ask(http.MethodGet, "/r/octo-org/fleet.gitops/"+headA)
		if !strings.Contains(w.Body.String(), strings.Replace(c.want, "404", "Not found", 1)) {
			t.Errorf("%v: %s, want %s", c.seen, w.Body, c.want)
		}
		// A page that shows lines of a private repository must be private, too.
		shows := c.want != "404" && (c.seen[12] == Private || c.seen[13] == Private)
		if cache := w.Header().Get("Cache-Control"); shows != (cache == "private, no-store") {
			t.Errorf("%v: Cache-Control %s", c.seen, cache)
		}
	}
}

// The overview of a repository is the same for all readers, because it quotes no other repository.
func TestForeignInOverview(t *testing.T) {
	m := &Meta{ID: "x", Head: headA, Branch: "main", Foreign: []Foreign{{URL: "https://a"}}}
	rep := &report.Report{RemoteSources: []report.RemoteSource{{URL: "https://a", Roots: []string{"apps"}}},
		NotChecked: []report.NotChecked{{Root: "apps", Reason: "hush", Quotes: true}, {Root: "apps", Reason: "own"}}}
	var o Overview
	o.add(m, rep, clock)
	if len(o.NotChecked) != 2 || strings.Contains(o.NotChecked[0].Reason, "hush") || o.NotChecked[1].Reason != "own" {
		t.Errorf("%+v", o.NotChecked)
	}
}

// If a result quotes too many repositories, the guard is not asked about all of them.
func TestManyForeign(t *testing.T) {
	h := newHouse(t, Config{})
	r := resultOf("x", headA, clock)
	h.guard.seen = map[int64]Level{11: Public}
	for i := range maxForeign + 5 {
		id := int64(100 + i)
		r.Foreign = append(r.Foreign, Foreign{Repository: forge.Repository{Repo: forge.Repo{ID: id}}, URL: fmt.Sprint("u", i)})
		h.guard.seen[id] = Private
	}
	put(t, h.store, r)
	if w := h.ask(http.MethodGet, "/r/octo-org/fleet.gitops/"+headA); !strings.Contains(w.Body.String(), "without [u20 u21 u22 u23 u24]") {
		t.Error(w.Body)
	}
}

// A preview has a page, but is in no list of the repository that it is about. The newest result of a commit is that of
// its check.
func TestPreviewIsInNoListOfOtherRepository(t *testing.T) {
	h := newHouse(t, Config{})
	h.guard.seen = map[int64]Level{11: Public}
	outlook := resultOf("outlook", headA, clock.Add(time.Hour))
	outlook.Pull, outlook.Of, outlook.Title = nil, &PreviewOf{forge.Repository{Repo: forge.Repo{ID: 50, Owner: "octo-org", Name: "policies"}}, 1}, "Once merged"
	h.guard.seen[50] = Public
	put(t, h.store, outlook)
	if w := h.ask(http.MethodGet, "/r/octo-org/fleet.gitops/"+headA); w.Code != http.StatusNotFound {
		t.Errorf("there is no other result: %d", w.Code)
	}
	own := resultOf("own", headA, clock)
	put(t, h.store, own)
	put(t, h.store, outlook)
	list, err := h.store.OfHead(t.Context(), 11, headA)
	if err != nil || len(list) != 1 || list[0].ID != own.ID {
		t.Errorf("%v %+v", err, list)
	}
	for _, r := range []*Stored{own, outlook} {
		if w := h.ask(http.MethodGet, r.Path()); w.Code != http.StatusOK {
			t.Errorf("%s: %d", r.Title, w.Code)
		}
	}
	overview, err := h.store.Overview(t.Context(), 11)
	if err != nil || len(overview.Pulls) != 1 || overview.Pulls[0].ID != own.ID || len(overview.Branch) != 0 {
		t.Errorf("%v %+v", err, overview)
	}
}

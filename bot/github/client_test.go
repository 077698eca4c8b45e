package github

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/forge"
)

func TestNewApp(t *testing.T) {
	h := newHub(t)
	for url, want := range map[string][2]string{
		"":                          {"https://github.com", "https://api.github.com/"},
		"https://github.com/":       {"https://github.com", "https://api.github.com/"},
		"https://ghe.example.com":   {"https://ghe.example.com", "https://ghe.example.com/api/v3/"},
		"http://127.0.0.1:18080///": {"http://127.0.0.1:18080", "http://127.0.0.1:18080/api/v3/"},
		"https://octo.ghe.com":      {"https://octo.ghe.com", "https://api.octo.ghe.com/"},
	} {
		a := h.app(func(c *Config) { c.URL = url })
		if a.web != want[0] || a.api.String() != want[1] {
			t.Errorf("%q: %s, %s", url, a.web, a.api)
		}
	}
	for name, bad := range map[string]Config{
		"no id":        {PrivateKey: h.pem},
		"no key":       {AppID: 1},
		"bad key":      {AppID: 1, PrivateKey: []byte("-----BEGIN sesame")},
		"no host":      {AppID: 1, PrivateKey: h.pem, URL: "github.com"},
		"credentials":  {AppID: 1, PrivateKey: h.pem, URL: "https://user:sesame@ghe.example.com"},
		"other scheme": {AppID: 1, PrivateKey: h.pem, URL: "ssh://ghe.example.com"},
	} {
		if _, err := NewClient(bad); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := h.app().CloneURL(testRepo); got != h.http.URL+"/octo/svc.git" {
		t.Error(got)
	}
}

func TestGitToken(t *testing.T) {
	h := newHub(t)
	now := time.Now()
	a := h.app(func(c *Config) { c.Now = func() time.Time { return now } })
	token := func(repo forge.Repo) string {
		t.Helper()
		token, err := a.GitToken(t.Context(), repo)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	one := token(testRepo)
	if diff := cmp.Diff(`{"repository_ids":[42],"permissions":{"contents":"read"}}`,
		strings.TrimSpace(h.bodies[0])); diff != "" {
		t.Error(diff)
	}
	other := testRepo
	other.ID++
	if token(testRepo) != one || token(other) == one {
		t.Error("a token is for one repository, for some minutes")
	}
	if now = now.Add(gitTokenAge); token(testRepo) == one {
		t.Error("a token is given to git for too long")
	}
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil {
		t.Fatal(err)
	}
	one = token(testRepo)
	h.set(func() { h.valid = "ghs_other" }) // what the API refuses, git does, too
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil || token(testRepo) == one {
		t.Errorf("a token that was revoked is still given to git: %v", err)
	}
	for status, gone := range map[int]bool{404: true, 403: true, 422: true, 500: false, 401: false} {
		h.answer("POST token", status, map[string]string{"message": "no"})
		other.ID++
		_, err := a.GitToken(t.Context(), other)
		if err == nil || forge.IsGone(err) != gone {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestClockSkew(t *testing.T) {
	for _, ahead := range []time.Duration{0, 50 * time.Second, -50 * time.Second, 10 * time.Minute, -10 * time.Minute,
		3 * time.Hour, -3 * time.Hour} {
		h := newHub(t)
		h.ahead = ahead
		h.answer("GET /app/installations", 200, []any{map[string]any{"id": 5, "account": map[string]any{"login": "octo"},
			"suspended_at": "2024-01-01T00:00:00Z"}})
		a := h.app()
		list, err := a.Installations(t.Context())
		if diff := cmp.Diff([]forge.Installation{{ID: 5, Account: "octo", Suspended: true}}, list); err != nil || diff != "" {
			t.Errorf("clock %s ahead, as the App: %v %s", ahead, err, diff)
		}
		if _, err := h.app().GitToken(t.Context(), testRepo); err != nil {
			t.Errorf("clock %s ahead, git token: %v", ahead, err)
		}
		a, before := h.app(), h.tokens
		for range 3 {
			if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil {
				t.Errorf("clock %s ahead, as an installation: %v", ahead, err)
			}
		}
		if n := h.tokens - before; n != 1 {
			t.Errorf("clock %s ahead: %d tokens for three requests", ahead, n)
		}
	}
}

func TestRevokedToken(t *testing.T) {
	h := newHub(t)
	a := h.app()
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil {
		t.Fatal(err)
	}
	h.set(func() { h.valid = "ghs_other" })
	if err := a.Publish(t.Context(), testRepo, completed(2)); err != nil {
		t.Errorf("a token that was revoked early: %v", err)
	}
	if h.tokens != 2 {
		t.Errorf("%d tokens", h.tokens)
	}
}

// A replaced key signs all further requests, also for installations with a token; an invalid key changes nothing.
func TestSetPrivateKey(t *testing.T) {
	h := newHub(t)
	a := h.app()
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	fresh := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if changed, err := a.SetPrivateKey(fresh[:len(fresh)/2]); err == nil || changed {
		t.Errorf("half a key: %v, %v", changed, err)
	}
	if changed, err := a.SetPrivateKey(h.pem); err != nil || changed {
		t.Errorf("the same key: %v, %v", changed, err)
	}
	if _, err := a.GitToken(t.Context(), testRepo); err != nil {
		t.Errorf("with the key before: %v", err)
	}
	h.set(func() { h.key, h.valid = key, "ghs_other" }) // GitHub knows the new one only
	other := testRepo
	other.ID++ // without a token yet
	if _, err := a.GitToken(t.Context(), other); err == nil {
		t.Error("the key before still signs")
	}
	if changed, err := a.SetPrivateKey(fresh); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	if _, err := a.GitToken(t.Context(), other); err != nil {
		t.Error(err)
	}
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil {
		t.Error(err)
	}
}

func TestErrorsByStatus(t *testing.T) {
	reset := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	secondary := map[string]string{"message": "slow down",
		"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}
	for _, tt := range []struct {
		name     string
		status   int
		header   map[string]string
		body     any
		gone     bool
		min, max time.Duration // of RetryLater
	}{
		{name: "not found", status: 404, gone: true},
		{name: "gone", status: 410, gone: true},
		{name: "blocked", status: 451, gone: true},
		{name: "forbidden", status: 403, gone: true},
		{name: "bad gateway", status: 502},
		{name: "html", status: 500, body: "<html>"},
		{name: "unavailable", status: 503, header: map[string]string{"Retry-After": "30"}, min: 30 * time.Second,
			max: 32 * time.Second},
		{name: "primary", status: 403, header: map[string]string{"X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": reset(600 * time.Second)}, min: 590 * time.Second, max: 602 * time.Second},
		{name: "primary as 429", status: 429, header: map[string]string{"X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": reset(600 * time.Second)}, min: 590 * time.Second, max: 602 * time.Second},
		{name: "secondary", status: 403, header: map[string]string{"Retry-After": "7"}, body: secondary,
			min: 7 * time.Second, max: 9 * time.Second},
		{name: "secondary as 429", status: 429, header: map[string]string{"Retry-After": "7"}, min: 7 * time.Second,
			max: 9 * time.Second},
		{name: "secondary, nothing said", status: 403, header: map[string]string{"X-Ratelimit-Remaining": "10",
			"X-Ratelimit-Reset": reset(time.Hour)}, body: secondary, min: time.Minute, max: 62 * time.Second},
		{name: "429, nothing said", status: 429, min: time.Minute, max: time.Minute},
		{name: "for years", status: 429, header: map[string]string{"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"},
			min: maxWait, max: maxWait + time.Second},
		{name: "for centuries", status: 403, header: map[string]string{"Retry-After": "9223372036"}, body: secondary,
			min: maxWait, max: maxWait + time.Second},
		{name: "for ever", status: 403, header: map[string]string{"X-Ratelimit-Limit": "5000", "X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": "9223372036854775807"}, min: maxWait - time.Second, max: maxWait + 2*time.Second},
		{name: "more than a number", status: 403, header: map[string]string{"X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": "92233720368547758070"}, min: time.Minute, max: time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t)
			h.answers["GET /repos/octo/svc/pulls/1/reviews"] = func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				reply(w, tt.status, tt.body)
			}
			a := h.app()
			_, err := a.Reviews(t.Context(), testRepo, 1)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "ghs_") {
				t.Errorf("the error has the token: %v", err)
			}
			var later *forge.RetryLater
			if errors.As(err, &later) != (tt.max > 0) || later != nil && (later.After < tt.min || later.After > tt.max) {
				t.Errorf("%v", err)
			}
			if forge.IsGone(err) != tt.gone {
				t.Errorf("*Gone: %v", forge.IsGone(err))
			}
			before := h.requests
			_, err = a.Reviews(t.Context(), testRepo, 1)
			if tt.max > 0 && (!errors.As(err, &later) || h.requests != before) {
				t.Errorf("asked again before GitHub allows it: %v", err)
			}
		})
	}
}

func TestGateOpensAgain(t *testing.T) {
	h := newHub(t)
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	h.answers["GET /repos/octo/svc/pulls/1/reviews"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100")
		reply(w, 429, nil)
	}
	a := h.app(func(c *Config) { c.Now = clock })
	_, err := a.Reviews(t.Context(), testRepo, 1)
	var later *forge.RetryLater
	if !errors.As(err, &later) {
		t.Fatal(err)
	}
	h.answer("GET /repos/octo/svc/pulls/1/reviews", 200, []any{})
	mu.Lock()
	now = now.Add(later.After)
	mu.Unlock()
	if _, err := a.Reviews(t.Context(), testRepo, 1); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

// Whatever wait an answer asks for, requests are sent again after a day.
func TestWaitsEnd(t *testing.T) {
	for _, name := range []string{"Retry-After", "X-Ratelimit-Reset"} {
		resp := &http.Response{Header: http.Header{}}
		resp.Header.Set(name, "9223372036854775807")
		now := time.Unix(1_700_000_000, 0)
		bound(resp, now, 0)
		n, err := strconv.ParseInt(resp.Header.Get(name), 10, 64)
		if limit := now.Add(maxWait).Unix(); err != nil || n > limit {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// The library compares the end of a limit with our clock, so answers tell it by that.
func TestWaitsEndByOurClock(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, skew := range []time.Duration{3 * time.Hour, 0, -3 * time.Hour} {
		resp := &http.Response{StatusCode: 403, Header: http.Header{}}
		end := now.Add(skew + 15*time.Second)
		resp.Header.Set("X-Ratelimit-Remaining", "0")
		resp.Header.Set("X-Ratelimit-Reset", strconv.FormatInt(end.Unix(), 10))
		bound(resp, now, skew)
		if got := resp.Header.Get("X-Ratelimit-Reset"); got != strconv.FormatInt(now.Unix()+15, 10) {
			t.Errorf("clock %s ahead: the limit ends at %s", skew, got)
		}
		resp.Header.Set("Retry-After", end.UTC().Format(http.TimeFormat))
		bound(resp, now, skew)
		if got := resp.Header.Get("Retry-After"); got != "15" {
			t.Errorf("clock %s ahead: again after %s", skew, got)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	h := newHub(t)
	h.fault = func(n int, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if !strings.HasSuffix(r.URL.Path, "/reviews") {
			next(w, r)
			return
		}
		w.Header().Set("Content-Length", "100")
		w.Write([]byte(`[{"user":`)) //nolint:errcheck // cut next
		panic(http.ErrAbortHandler)
	}
	_, err := h.app().Reviews(t.Context(), testRepo, 1)
	var later *forge.RetryLater
	if err == nil || forge.IsGone(err) || errors.As(err, &later) {
		t.Errorf("a truncated answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.app().Reviews(ctx, testRepo, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	h := newHub(t)
	h.answers["POST /repos/octo/old/check-runs"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", h.http.URL+"/api/v3/repos/octo/svc/check-runs")
		w.WriteHeader(http.StatusMovedPermanently)
	}
	old := testRepo
	old.Name = "old"
	run := completed(2)
	run.ExternalID = ""
	if err := h.app().Publish(t.Context(), old, run); err != nil || len(h.runs) != 1 {
		t.Errorf("a write to a renamed repository: %v, %d runs", err, len(h.runs))
	}
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, method := range []string{"POST /repos/octo/bad/check-runs", "GET /repos/octo/bad/pulls/1/reviews"} {
		h.answers[method] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL+"/x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}
	old.Name = "bad"
	run.ID = 0
	if err := h.app().Publish(t.Context(), old, run); err == nil {
		t.Error("a write was redirected to another server")
	}
	if _, err := h.app().Reviews(t.Context(), old, 1); err == nil {
		t.Error("a read was redirected to another server")
	}
	if len(leaked) > 0 {
		t.Errorf("another server saw %q", leaked)
	}
}

func TestPullRequest(t *testing.T) {
	h := newHub(t)
	h.answer("GET /repos/octo/svc/pulls/1", 200, map[string]any{"number": 1, "state": "open", "draft": true,
		"user": map[string]any{"login": "alice"},
		"base": map[string]any{"ref": "main", "sha": "old", "repo": map[string]any{"id": 42}},
		"head": map[string]any{"ref": "feat", "sha": head, "repo": nil}})
	got, err := h.app().PullRequest(t.Context(), testRepo, 1)
	want := &forge.PullRequest{Number: 1, State: "open", Author: "alice", BaseRef: "main", BaseSHA: "old",
		HeadRef: "feat", HeadSHA: head, Fork: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("base branch gone: %v %s", err, diff)
	}
	h.answer("GET /repos/octo/svc/git/ref/heads/main", 200,
		map[string]any{"ref": "refs/heads/main", "object": map[string]any{"sha": "tip"}})
	if got, err = h.app().PullRequest(t.Context(), testRepo, 1); err != nil || got.BaseSHA != "tip" {
		t.Errorf("%+v, %v", got, err)
	}
	h.answer("GET /repos/octo/svc/git/ref/heads/main", 502, nil)
	if _, err = h.app().PullRequest(t.Context(), testRepo, 1); err == nil {
		t.Error("an outdated base was taken for the present one")
	}
}

func TestPagination(t *testing.T) {
	h := newHub(t)
	pages := 3
	h.answers["GET /repos/octo/svc/pulls/1/reviews"] = func(w http.ResponseWriter, r *http.Request) {
		page, err := strconv.Atoi(r.URL.Query().Get("page"))
		if err != nil {
			page = 1
		}
		if page < pages {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, h.http.URL, r.URL.Path, page+1))
		}
		w.Header().Set("Etag", fmt.Sprintf(`"p%d"`, page))
		if r.Header.Get("If-None-Match") == fmt.Sprintf(`"p%d"`, page) {
			w.Header().Del("Link")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		reply(w, 200, []any{map[string]any{"state": "approved", "user": map[string]any{"login": "u" + strconv.Itoa(page)},
			"commit_id": "c", "submitted_at": fmt.Sprintf("2024-01-0%dT00:00:00Z", 9-page%9)}})
	}
	a := h.app()
	for try := range 2 { // the second from the cache
		got, err := a.Reviews(t.Context(), testRepo, 1)
		if err != nil || len(got) != 3 || got[0].User != "u3" || got[2].User != "u1" || got[0].State != "APPROVED" {
			t.Errorf("%d: %+v, %v", try, got, err)
		}
	}
	pages = 1 << 30
	var many *forge.TooMany
	if _, err := h.app().Reviews(t.Context(), testRepo, 1); !errors.As(err, &many) {
		t.Errorf("an endless list: %v", err)
	}
}

func TestCommits(t *testing.T) {
	h := newHub(t)
	user := func(login string) any { return map[string]any{"login": login} }
	list := []any{map[string]any{"sha": "1", "author": user("bob"), "committer": user("web-flow")},
		map[string]any{"sha": "2", "author": nil, "committer": user("alice")},
		map[string]any{"sha": "3", "author": nil, "committer": user("web-flow")}}
	h.answer("GET /repos/octo/svc/pulls/1/commits", 200, list)
	got, err := h.app().Commits(t.Context(), testRepo, 1)
	if want := map[string][]string{"1": {"bob"}, "2": {"alice"}, "3": nil}; err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %v", got, err)
	}
	for len(list) < listedCommits {
		list = append(list, map[string]any{"sha": strconv.Itoa(len(list) + 1), "author": user("bob")})
	}
	h.answer("GET /repos/octo/svc/pulls/1/commits", 200, list)
	h.answer("GET /repos/octo/svc/pulls/1", 200, map[string]any{"base": map[string]any{"sha": "b"},
		"head": map[string]any{"sha": "h"}})
	h.answer("GET /repos/octo/svc/compare/b...h", 200,
		map[string]any{"commits": []any{map[string]any{"sha": "late", "author": user("late")}}})
	if got, err = h.app().Commits(t.Context(), testRepo, 1); err != nil || !slices.Equal(got["late"], []string{"late"}) {
		t.Errorf("more commits than GitHub lists: %v, %v", got, err)
	}
}

func TestMergeGroups(t *testing.T) {
	h := newHub(t)
	h.answer("GET /repos/octo/svc/git/matching-refs/heads/gh-readonly-queue/release/1/pr-12-", 200, []any{
		map[string]any{"ref": "refs/heads/gh-readonly-queue/release/1/pr-12-abc", "object": map[string]any{"sha": "head"}}})
	if got, err := h.app().MergeGroups(t.Context(), testRepo, "release/1", 12); err != nil || !slices.Equal(got, []string{"head"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMembers(t *testing.T) {
	h := newHub(t)
	h.answer("GET /orgs/octo/teams/ops/memberships/alice", 200, map[string]any{"state": "active"})
	h.answer("GET /orgs/octo/teams/ops/memberships/bob", 200, map[string]any{"state": "pending"})
	h.answer("GET /orgs/octo/teams/ops/memberships/eve", 403, nil)
	h.answer("GET /repos/octo/svc/collaborators/alice/permission", 200, map[string]any{"permission": "write"})
	h.answer("GET /repos/octo/svc/collaborators/eve/permission", 500, nil)
	a := h.app()
	for login, want := range map[string]bool{"alice": true, "bob": false, "nobody": false, "../x": false} {
		if got, err := a.TeamMember(t.Context(), testRepo, "octo/ops", login); got != want || err != nil {
			t.Errorf("%s: %v, %v", login, got, err)
		}
	}
	if _, err := a.TeamMember(t.Context(), testRepo, "octo/ops", "eve"); !forge.IsGone(err) {
		t.Errorf("no permission to read members: %v", err)
	}
	for login, want := range map[string]string{"alice": "write", "nobody": "none", "a/b": "none"} {
		if got, err := a.Permission(t.Context(), testRepo, login); got != want || err != nil {
			t.Errorf("%s: %v, %v", login, got, err)
		}
	}
	if _, err := a.Permission(t.Context(), testRepo, "eve"); err == nil {
		t.Error("trouble of GitHub was taken for an answer")
	}
}

func TestDeliveries(t *testing.T) {
	h := newHub(t)
	at := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	delivery := func(id int, guid string, code int, ago time.Duration) any {
		return map[string]any{"id": id, "guid": guid, "status_code": code, "event": "push",
			"delivered_at": at.Add(-ago).Format(time.RFC3339)}
	}
	h.answer("GET /app/hook/deliveries", 200, []any{
		delivery(9, "cured", 202, 0), delivery(8, "again", 500, time.Minute), delivery(7, "again", 502, 2*time.Minute),
		delivery(6, "cured", 0, 3*time.Minute), delivery(5, "once", 404, 4*time.Minute),
		delivery(1, "long ago", 500, time.Hour)})
	got, err := h.app().FailedDeliveries(t.Context(), at.Add(-10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, d := range got {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []int64{5, 8}) {
		t.Errorf("%v", ids)
	}
	h.answer("POST /app/hook/deliveries/8/attempts", 202, map[string]any{})
	if err := h.app().Redeliver(t.Context(), 8); err != nil {
		t.Error(err)
	}
	if err := h.app().Redeliver(t.Context(), 99); !forge.IsGone(err) {
		t.Errorf("a delivery that is not there: %v", err)
	}
	h.answer("POST /app/hook/deliveries/7/attempts", 422,
		map[string]any{"message": "This delivery is too old to be redelivered."})
	if err := h.app().Redeliver(t.Context(), 7); !forge.IsGone(err) {
		t.Errorf("a delivery that is too old: %v", err)
	}
	h.set(func() { h.ahead = -2 * time.Hour })
	if got, err = h.app().FailedDeliveries(t.Context(), at.Add(2*time.Hour-10*time.Minute)); err != nil || len(got) != 2 {
		t.Errorf("by a clock that is behind ours: %v, %v", got, err)
	}
}

func TestInstallationsConcurrently(t *testing.T) {
	h := newHub(t)
	a := h.app()
	h.answer("POST token", 201, map[string]any{"token": "ghs_x",
		"expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)})
	h.set(func() { h.valid = "ghs_x" })
	h.answer("GET /installation/repositories", 200, map[string]any{"total_count": 2, "repositories": []any{
		map[string]any{"id": 1, "name": "a", "owner": map[string]any{"login": "o"}},
		map[string]any{"id": 2, "name": "b", "archived": true}}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got, err := a.Repositories(t.Context(), int64(i%4+1))
			if diff := cmp.Diff([]forge.Repo{{Installation: int64(i%4 + 1), ID: 1, Owner: "o", Name: "a"}}, got); err != nil ||
				diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	wg.Wait()
}

func TestBudgets(t *testing.T) {
	h := newHub(t)
	now := time.Now()
	h.set(func() {
		h.answers["GET /repos/octo/svc"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Ratelimit-Limit", "5000")
			w.Header().Set("X-Ratelimit-Remaining", "4999")
			w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(now.Add(time.Minute).Unix(), 10))
			reply(w, 200, map[string]any{"default_branch": "main"})
		}
	})
	var later atomic.Int64
	a := h.app(func(c *Config) { c.Now = func() time.Time { return now.Add(time.Duration(later.Load())) } })
	if got := a.Budgets(); len(got) != 0 {
		t.Errorf("before the first answer: %v", got)
	}
	if _, err := a.Repository(t.Context(), testRepo); err != nil {
		t.Fatal(err)
	}
	if got := a.Budgets()[testInst]; got.Remaining != 4999 || got.Limit != 5000 {
		t.Errorf("%+v", got)
	}
	later.Store(int64(2 * time.Minute))
	if got := a.Budgets()[testInst]; got.Remaining != 5000 {
		t.Errorf("in the next window: %+v", got)
	}
	if got, known := a.Budget(testInst); !known || got.Remaining != 5000 {
		t.Errorf("of one, in the next window: %+v, %v", got, known)
	}
}

// A token that GitHub refuses is not asked for again, and says nothing about the thing that was asked for.
func TestRefusedTokenIsNoAnswerAboutTheRequest(t *testing.T) {
	for status, want := range map[int]int{http.StatusNotFound: 1, http.StatusForbidden: 1, http.StatusBadGateway: attempts} {
		h := newHub(t)
		tokens := 0
		h.fault = func(_ int, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			if !strings.HasSuffix(r.URL.Path, "/access_tokens") {
				next(w, r)
				return
			}
			tokens++
			reply(w, status, map[string]string{"message": "no"})
		}
		level, err := h.app().Permission(t.Context(), testRepo, "jane")
		if err == nil || level != "" || tokens != want || forge.IsGone(err) != (want == 1) ||
			!strings.Contains(err.Error(), "permission of jane on octo/svc (installation token)") {
			t.Errorf("%d: %q, %v, %d requests for a token", status, level, err, tokens)
		}
	}
}

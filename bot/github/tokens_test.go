package github

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// granting answers requests for tokens with permissions that can change.
func (h *hub) granting(permissions *atomic.Pointer[map[string]string]) {
	h.set(func() {
		h.answers["POST token"] = func(w http.ResponseWriter, _ *http.Request) {
			h.tokens++
			h.valid = "ghs_" + strings.Repeat("x", h.tokens)
			reply(w, 201, map[string]any{"token": h.valid, "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
				"permissions": *permissions.Load()})
		}
	})
}

func (h *hub) askedFor(part string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.asked, func(a string) bool { return strings.Contains(a, part) })
}

// Members are not asked for without the permission, nor those of other organizations; once it was granted, they are.
func TestMembersNeedPermission(t *testing.T) {
	h := newHub(t)
	var granted atomic.Pointer[map[string]string]
	granted.Store(&map[string]string{"checks": "write"})
	h.granting(&granted)
	h.answer("GET /orgs/octo/teams/ops/memberships/alice", 200, map[string]any{"state": "active"})
	h.answer("GET /repos/octo/svc", 200, map[string]any{"default_branch": "main"})
	var later atomic.Int64
	a := h.app(func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) } })
	if _, err := a.Repository(t.Context(), testRepo); err != nil { // so that there is a token
		t.Fatal(err)
	}
	if is, err := a.TeamMember(t.Context(), testRepo, "other/ops", "alice"); is || err != nil {
		t.Errorf("another organization: %v, %v", is, err)
	}
	for range 2 {
		if _, err := a.TeamMember(t.Context(), testRepo, "octo/ops", "alice"); !forge.IsGone(err) {
			t.Errorf("without the permission: %v", err)
		}
		later.Add(int64(2 * time.Second))
	}
	if h.askedFor("/orgs/") {
		t.Errorf("asked in vain: %q", h.asked)
	}
	granted.Store(&map[string]string{"checks": "write", "members": "read"})
	if is, err := a.TeamMember(t.Context(), testRepo, "octo/ops", "alice"); !is || err != nil {
		t.Errorf("with the permission: %v, %v", is, err)
	}
}

// A token keeps the permissions it was made with: a refusal is asked about again with another one, once.
func TestForbiddenWithAnOldToken(t *testing.T) {
	h := newHub(t)
	var later atomic.Int64
	a := h.app(func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) } })
	h.set(func() {
		h.answers["GET /repos/octo/svc"] = func(w http.ResponseWriter, _ *http.Request) {
			if h.tokens < 2 {
				reply(w, 403, map[string]string{"message": "Resource not accessible by integration"})
				return
			}
			reply(w, 200, map[string]any{"default_branch": "main"})
		}
	})
	if _, err := a.Repository(t.Context(), testRepo); !forge.IsGone(err) {
		t.Errorf("with a new token: %v", err)
	}
	later.Store(int64(time.Minute))
	if got, err := a.Repository(t.Context(), testRepo); err != nil || got.DefaultBranch != "main" {
		t.Errorf("with an old token: %v, %v", got, err)
	}
}

// Who is told to wait when asking for a token asks for nothing else either.
func TestTokenRefusalClosesTheGate(t *testing.T) {
	h := newHub(t)
	h.set(func() {
		h.answers["POST token"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			reply(w, 429, map[string]string{"message": "slow down"})
		}
	})
	a := h.app()
	for range 3 {
		_, err := a.Repository(t.Context(), testRepo)
		var wait *forge.RetryLater
		if !errors.As(err, &wait) {
			t.Errorf("%v", err)
		}
		if _, err := a.GitToken(t.Context(), testRepo); !errors.As(err, &wait) {
			t.Errorf("%v", err)
		}
	}
	if h.requests != 1 {
		t.Errorf("%d requests: %q", h.requests, h.asked)
	}
}

package worker_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"
)

// settings changes the stand-in's settings for one scenario.
func (h *hall) settings(t *testing.T, in fields) {
	t.Helper()
	var before fields
	h.control(http.MethodGet, "/settings", nil, &before)
	h.control(http.MethodPatch, "/settings", in, nil)
	old := fields{}
	for name := range in {
		old[name] = before[name]
	}
	t.Cleanup(func() { h.control(http.MethodPatch, "/settings", old, nil) })
}

// TestStandinDays has what concerns all of GitHub or all webhooks, one after the other.
func TestStandinDays(t *testing.T) {
	if !*soak {
		t.Skip("takes minutes: run with -soak")
	}
	h := newHall(t, "LINTEL_SWEEP_INTERVAL=2s")
	n := 0
	day := func(name string, play func(t *testing.T, s *standin)) {
		n++
		t.Run(name, func(t *testing.T) { play(t, h.in(t, fmt.Sprintf("day-%d", n))) })
	}
	setting := func(in fields) func(*testing.T, *standin) {
		return func(t *testing.T, s *standin) {
			h.settings(t, in)
			s.life()
		}
	}
	day("tokens of the long form", setting(fields{"token_style": "stateless"}))
	day("tokens for three seconds", setting(fields{"token_ttl_seconds": 3}))
	day("429 for 403", setting(fields{"rate_limit_status": 429}))
	day("mergeable late", setting(fields{"mergeable_lag": 5}))
	day("no etags", setting(fields{"etag": false}))
	day("timestamps as numbers", setting(fields{"installation_timestamps": "unix"}))
	for _, ahead := range []int{600, -600, 86400, -86400, 0} {
		day(fmt.Sprintf("a clock %d s ahead", ahead), func(t *testing.T, s *standin) {
			h.control(http.MethodPatch, "/settings", fields{"clock_skew_seconds": ahead}, nil)
			s.life()
		})
	}
	day("tokens revoked", func(_ *testing.T, s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		for range 3 {
			s.control(http.MethodPost, "/tokens/expire", nil, nil)
			s.push("change", fine(fmt.Sprint("x", time.Now().UnixNano())))
			s.ends(1, map[int]string{n: "failure"})
		}
	})
	for _, left := range []int{0, 1, 4, 9} {
		day(fmt.Sprintf("%d requests left", left), func(_ *testing.T, s *standin) {
			s.control(http.MethodPost, "/rate", fields{"installation": s.installation, "limit": 60, "remaining": left,
				"reset_in": 4}, nil)
			s.push("change", s.broken())
			s.ends(1, map[int]string{s.pull("change"): "failure"})
		})
	}
	for _, order := range []string{"fifo", "lifo", "random"} {
		day("webhooks held back, "+order, func(_ *testing.T, s *standin) {
			s.control(http.MethodPost, "/hooks/hold", fields{}, nil)
			loose := *s
			commit := func(files map[string]string) {
				loose.control(http.MethodPost, "/repos/"+s.repo+"/commits",
					fields{"branch": "change", "user": "alice", "message": "m", "files": files}, nil)
			}
			commit(s.broken())
			var pull struct{ Number int }
			s.control(http.MethodPost, "/repos/"+s.repo+"/pulls", fields{"head": "change", "title": "t", "user": "alice"}, &pull)
			commit(fine("a"))
			at := fmt.Sprintf("/repos/%s/pulls/%d", s.repo, pull.Number)
			s.control(http.MethodPatch, at, fields{"state": "closed"}, nil)
			s.control(http.MethodPatch, at, fields{"state": "open"}, nil)
			commit(s.excepted())
			s.control(http.MethodPost, at+"/reviews", fields{"user": "bob", "state": "APPROVE"}, nil)
			s.control(http.MethodPost, "/hooks/release", fields{"order": order}, nil)
			s.ends(1, map[int]string{pull.Number: "success"})
		})
	}
	for _, tamper := range []fields{{"do": "duplicate", "times": 20}, {"do": "drop", "times": 3},
		{"do": "drop", "times": 3, "event": "pull_request"}, {"do": "bad_signature", "times": 4},
		{"do": "no_signature", "times": 4}, {"do": "delay", "delay_ms": 1500, "times": 4}} {
		day(fmt.Sprintf("webhooks: %v", tamper), func(_ *testing.T, s *standin) {
			s.control(http.MethodPost, "/hooks/tamper", maps.Clone(tamper), nil)
			s.push("change", s.broken())
			n := s.pull("change")
			s.ends(1, map[int]string{n: "failure"})
			s.push("change", s.excepted())
			s.review(n, "bob", "APPROVE")
			s.ends(2, map[int]string{n: "success"})
			s.control(http.MethodPost, "/hooks/tamper", fields{"do": "duplicate", "times": 0}, nil)
		})
	}
	day("an approval that arrives the third time", func(_ *testing.T, s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "action_required"})
		s.control(http.MethodPost, "/hooks/tamper", fields{"do": "drop", "times": 2, "event": "pull_request_review"}, nil)
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "success"})
	})
	day("forms", func(t *testing.T, s *standin) {
		var apps []struct{ ID int64 }
		h.control(http.MethodGet, "/apps", nil, &apps)
		h.control(http.MethodPatch, fmt.Sprintf("/apps/%d", apps[0].ID), fields{"content_type": "form"}, nil)
		s.life()
		h.control(http.MethodPatch, fmt.Sprintf("/apps/%d", apps[0].ID), fields{"content_type": "json"}, nil)
	})
	day("archived", func(t *testing.T, s *standin) {
		s.push("change", s.broken())
		s.control(http.MethodPatch, "/repos/"+s.repo, fields{"archived": true}, nil)
		s.control(http.MethodPatch, "/repos/"+s.repo, fields{"archived": false}, nil)
		s.ends(1, map[int]string{s.pull("change"): "failure"})
	})
	h.done(t,
		"^auth: .*(JWT|token|claim|Bad credentials)", // tokens revoked, clocks that differ
		"^rate.primary: ",
		"^rate.secondary: .* /app/", // that many organizations in a minute
		"^webhook.delivery: .*tampered",
	)
}

// life is a pull request with a violation, its repair, and an exception that is approved.
func (s *standin) life() {
	s.t.Helper()
	s.push("change", s.broken())
	n := s.pull("change")
	s.ends(1, map[int]string{n: "failure"})
	s.push("change", s.excepted())
	s.ends(1, map[int]string{n: "action_required"})
	s.review(n, "bob", "APPROVE")
	s.ends(2, map[int]string{n: "success"})
}

// TestStandinEnterprise is the life of a pull request by the description of the oldest Enterprise Server, which has no
// merge queues.
func TestStandinEnterprise(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	h := newHallOf(t, []string{"--spec", "ghes-3.17"}, []string{"merge_group"})
	h.in(t, "octo-org").life()
	h.done(t)
}

// examples sends the payloads that GitHub publishes as examples. They are about repositories and installations that are
// not there, and each is answered well, and in time.
func (h *hall) examples(t *testing.T) {
	t.Helper()
	for _, event := range []string{"check_run", "check_suite", "installation", "installation_repositories", "ping",
		"pull_request", "pull_request_review", "push", "repository",
		"create", "delete", "issue_comment", "membership", "organization", "status", "team", "workflow_run"} {
		var examples []fields
		h.control(http.MethodGet, "/hooks/example/"+event, nil, &examples)
		for _, payload := range examples {
			h.control(http.MethodPost, "/hooks/send?wait=1", fields{"event": event, "payload": payload, "validate": false}, nil)
		}
	}
}

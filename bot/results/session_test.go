package results

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/store"
)

func TestSession(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	alice.get("/auth/login?return=/r/fleet")
	alice.sees("signed in", http.StatusOK)
	id := alice.cookie("lintel-session")

	// Another server, and a server after a restart, accept the session.
	_, s.pages = s.serve(nil)
	alice.sees("at another server", http.StatusOK)
	s.jobs.Close()
	s.open()
	_, s.pages = s.serve(nil)
	alice.sees("after a restart", http.StatusOK)

	number, key, _ := strings.Cut(id, ".")
	for _, forged := range []string{secret(), number + "." + secret(), id[:len(id)-1], id + "A", strings.ToUpper(id), "", "*", ">",
		key, "." + key, "1." + key, "0" + id, "-" + id, "9" + strings.Repeat("9", 18) + "." + key, number + ".*", number + ".>",
		number + "." + digest("session", key), number + "." + digest("session", key)[:43], "alice",
		number + "." + strings.Repeat("a", 43)} {
		b := s.browser()
		b.set("lintel-session", forged)
		b.sees("forged "+forged, http.StatusSeeOther)
	}

	// A new sign-in ends the session that the browser had before.
	alice.get("/auth/login?return=/r/fleet")
	thief := s.browser()
	thief.set("lintel-session", id)
	thief.sees("the session before", http.StatusSeeOther)

	s.clock.add(sessionLife - time.Second)
	alice.sees("nearly a day later", http.StatusOK)
	s.clock.add(time.Second)
	alice.sees("a day later", http.StatusSeeOther)

	// The button to sign out ends the session, also for somebody who stole the cookie.
	alice.get("/auth/login?return=/r/fleet")
	alice.sees("signed in again", http.StatusOK)
	thief.set("lintel-session", alice.cookie("lintel-session"))
	thief.sees("stolen", http.StatusOK)
	if got := alice.do(http.MethodGet, "/auth/sign-out", nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("sign-out by GET: %d", got.status)
	}
	for name, header := range map[string]http.Header{
		"another site":                {"Origin": {"https://evil.example.com"}},
		"another site's frame":        {"Origin": {"null"}},
		"another port":                {"Origin": {s.hub.URL()}},
		"two origins":                 {"Origin": {s.url, "https://evil.example.com"}},
		"another site as referrer":    {"Referer": {"https://evil.example.com/" + s.url}},
		"longer host as referrer":     {"Referer": {s.url + ".evil.example.com/"}},
		"referrer that is no address": {"Referer": {"://"}},
		"cross-site":                  {"Origin": {s.url}, "Sec-Fetch-Site": {"cross-site"}},
		"same-site":                   {"Sec-Fetch-Site": {"same-site"}},
	} {
		if got := alice.do(http.MethodPost, "/auth/sign-out", header); got.status != http.StatusForbidden {
			t.Errorf("sign-out from %s: %d", name, got.status)
		}
		alice.sees("signed out from "+name, http.StatusOK)
	}
	got := alice.do(http.MethodPost, "/auth/sign-out", http.Header{"Origin": {s.url}, "Sec-Fetch-Site": {"same-origin"}})
	if got.status != http.StatusOK || !strings.Contains(got.body, "You are signed out") {
		t.Errorf("sign-out: %d %s", got.status, got.body)
	}
	s.strictly("sign-out", got)
	if alice.cookie("lintel-session") != "" {
		t.Error("the cookie is still there")
	}
	alice.sees("signed out", http.StatusSeeOther)
	thief.sees("stolen, and signed out", http.StatusSeeOther)
	// After a sign-out, GitHub is told to let the reader choose an account; then the sign-in continues as before.
	asked := alice.get("/r/fleet")
	query := asked.url.Query()
	if asked.url.Path != "/login/oauth/authorize" || query.Get("prompt") != "select_account" {
		t.Fatalf("signed out, alice is at %s: %d", asked.url, asked.status)
	}
	query.Del("prompt")
	there := url.Values{"user": {"alice"}, "return_to": {asked.url.Path + "?" + query.Encode()}}
	if got := alice.get(s.hub.URL() + "/login?" + there.Encode()); !strings.Contains(got.body, theResult) ||
		alice.cookie("lintel-signed-out") != "" {
		t.Errorf("signed in again: %d at %s", got.status, got.url)
	}
	// The button also works in a browser that sends only a Referer header, and without a session.
	for range 2 {
		got = alice.do(http.MethodPost, "/auth/sign-out", http.Header{"Referer": {s.url + "/r/fleet"}})
		if got.status != http.StatusOK {
			t.Errorf("sign-out: %d", got.status)
		}
		alice.sees("signed out", http.StatusSeeOther)
	}
	s.clean()
}

func TestWrongClock(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		jumps []time.Duration // of the clock after the sign-in, in order
		want  []int           // status of the page after each jump
	}{
		"a little back":         {[]time.Duration{-clocks}, []int{200}},
		"back":                  {[]time.Duration{-day, day}, []int{303, 303}},
		"begun ahead":           {[]time.Duration{-day, day, day}, []int{303, 303, 303}},
		"ahead, and back":       {[]time.Duration{day, -day, day}, []int{303, 200, 303}},
		"far ahead":             {[]time.Duration{400 * day}, []int{303}},
		"far back":              {[]time.Duration{-400 * day}, []int{303}},
		"to the end of the day": {[]time.Duration{day - time.Second, time.Second}, []int{200, 303}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			alice := s.as("alice")
			alice.get("/auth/login")
			for i, jump := range c.jumps {
				s.clock.add(jump)
				alice.sees(name, c.want[i])
			}
		})
	}
	// GitHub's cached answers are dropped if the clock goes back.
	for _, public := range []bool{true, false} {
		s := newScene(t, nil)
		s.public(public)
		alice := s.as("alice")
		alice.get("/auth/login")
		alice.sees("before", http.StatusOK)
		s.public(false)
		s.permit("alice", "none")
		s.clock.add(-time.Second)
		alice.sees("the clock goes back", http.StatusNotFound)
	}
}

func TestRevoke(t *testing.T) {
	s := newScene(t, nil)
	one, two, bob := s.as("alice"), s.as("alice"), s.as("bob")
	for _, b := range []*browser{one, two, bob} {
		b.get("/auth/login")
		b.sees("signed in", http.StatusOK)
	}
	number, _, _ := strings.Cut(one.cookie("lintel-session"), ".")
	account, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	another, _ := s.serve(nil) // another server
	for _, nobody := range []int64{0, -1} {
		if err := another.Revoke(t.Context(), nobody); err != nil {
			t.Error(err)
		}
	}
	one.sees("still signed in", http.StatusOK)
	if err := another.Revoke(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	one.sees("revoked", http.StatusSeeOther)
	two.sees("revoked", http.StatusSeeOther)
	bob.sees("another person", http.StatusOK)
	s.clean()
}

func TestManySessions(t *testing.T) {
	s := newScene(t, nil)
	bob := s.as("bob")
	bob.get("/auth/login")
	var all []*browser
	for range maxSessions + 1 {
		b := s.as("alice")
		b.get("/auth/login")
		all = append(all, b)
	}
	for i, b := range all {
		want := http.StatusSeeOther
		if i == maxSessions {
			want = http.StatusOK
		}
		b.sees(fmt.Sprint("browser ", i), want)
	}
	bob.sees("another person", http.StatusOK)
}

type countStore struct {
	store.Values
	reads atomic.Int32
}

func (c *countStore) Get(ctx context.Context, name string) ([]byte, uint64, error) {
	c.reads.Add(1)
	return c.Values.Get(ctx, name)
}

func TestOnce(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	alice.get("/auth/login")
	var count *countStore
	_, s.pages = s.serve(func(c *AccessConfig) {
		count = &countStore{Values: c.Sessions}
		c.Sessions = count
	})
	alice.sees("signed in", http.StatusOK)
	if n := count.reads.Load(); n != 1 {
		t.Errorf("the store was asked %d times", n)
	}
	alice.sees("again", http.StatusOK)
	if n := count.reads.Load(); n != 2 {
		t.Errorf("another request: the store was asked %d times", n)
	}
}

func TestStoreTrouble(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	alice.get("/auth/login?return=/r/fleet")
	s.jobs.Close()
	alice.sees("no store", http.StatusServiceUnavailable)
	s.public(true)
	s.clock.add(DefaultAccessTTL)
	alice.sees("no store, public", http.StatusOK)
	if got := alice.get("/r/none"); got.status != http.StatusServiceUnavailable {
		t.Errorf("what is not there: %d", got.status)
	}
	got := alice.do(http.MethodPost, "/auth/sign-out", nil)
	if got.status != http.StatusServiceUnavailable || alice.cookie("lintel-session") == "" {
		t.Errorf("sign-out: %d %s", got.status, got.body)
	}
	if got := s.as("alice").get("/auth/login"); got.status != http.StatusServiceUnavailable {
		t.Errorf("sign-in: %d", got.status)
	}
	s.open()
}

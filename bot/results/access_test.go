package results

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/githubtest"
)

// A public repository needs neither a sign-in nor a client secret. After it is made private, it stays public for as
// long as the answer is cached.
func TestPublicNeedsNoSignIn(t *testing.T) {
	for name, change := range map[string]func(*AccessConfig){
		"with a sign-in": nil,
		"without": func(c *AccessConfig) {
			c.SignIn, c.Sessions, c.Used = nil, nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, change)
			s.public(true)
			b := s.browser()
			b.sees("public", http.StatusOK)
			if b.cookie("lintel-") != "" {
				t.Error("a cookie for a public page")
			}
			s.public(false)
			s.clock.add(DefaultAccessTTL - time.Second)
			b.sees("made private, remembered", http.StatusOK)
			s.clock.add(time.Second)
			want := http.StatusSeeOther
			if change != nil {
				want = http.StatusNotFound
				if got := b.stop("/auth/login"); got.status != http.StatusNotFound {
					t.Errorf("a sign-in without a client: %d", got.status)
				}
			}
			got := b.sees("made private", want)
			if missing := b.stop("/r/none"); missing.status != got.status || missing.body != got.body {
				t.Errorf("what does not exist is another answer: %d %s", missing.status, missing.body)
			}
			s.public(true)
			s.clock.add(DefaultAccessTTL)
			b.sees("public again", http.StatusOK)
			s.clean()
		})
	}
}

// A repository that a reader may not read, and one that does not exist, give the same answer.
func TestNoAccess(t *testing.T) {
	s := newScene(t, nil)
	b := s.as("mallory")
	got := b.get("/r/fleet")
	if got.status != http.StatusNotFound || strings.Contains(got.body, theResult) || strings.Contains(got.body, "fleet") ||
		!strings.Contains(got.body, "Sign out") {
		t.Errorf("no access: %d %s", got.status, got.body)
	}
	if missing := b.get("/r/none"); missing.status != got.status || missing.body != got.body {
		t.Errorf("what does not exist is another answer: %d %s", missing.status, missing.body)
	}
	// A person who is given access sees the page after half a minute; one who loses it does not after the TTL.
	s.permit("mallory", "write")
	b.sees("a no is remembered", http.StatusNotFound)
	s.clock.add(refusalTTL)
	b.sees("let in", http.StatusOK)
	s.permit("mallory", "none")
	s.clock.add(DefaultAccessTTL - time.Second)
	b.sees("removed, remembered", http.StatusOK)
	s.clock.add(time.Second)
	b.sees("removed", http.StatusNotFound)
	s.clean()
}

// While GitHub fails, readers with a cached answer still have access, and nobody else gets it.
func TestReadersWhileGitHubFails(t *testing.T) {
	for name, fault := range map[string]githubtest.Fault{
		"5xx":          {Status: http.StatusBadGateway, Times: -1},
		"cut off":      {Reset: true, Times: -1},
		"truncated":    {Truncate: true, Times: -1},
		"rate limited": {Status: http.StatusTooManyRequests, Times: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			alice, bob := s.as("alice"), s.as("bob")
			if got := alice.get("/r/fleet"); got.status != http.StatusOK {
				t.Fatalf("signed in: %d %s", got.status, got.body)
			}
			if got := bob.get("/auth/login"); got.status != http.StatusOK {
				t.Fatal(got.status)
			}
			s.clock.add(DefaultAccessTTL - 2*failureTTL)
			fault.Path = "/octo-org/fleet"
			s.hub.Inject(fault)
			alice.sees("remembered", http.StatusOK)
			bob.sees("not let in before", http.StatusServiceUnavailable)
			s.clock.add(2 * failureTTL)
			alice.sees("forgotten", http.StatusServiceUnavailable)
			s.browser().sees("anybody", http.StatusServiceUnavailable)
			s.hub.ClearFaults()
			s.clock.add(2 * time.Minute) // GitHub asked for a pause of one minute
			alice.sees("over", http.StatusOK)
			bob.sees("over", http.StatusOK)
		})
	}
}

// If the App was uninstalled or a repository deleted, the pages do not exist.
func TestPagesOfRemovedRepositoryAreGone(t *testing.T) {
	for name, gone := range map[string]func(*scene){
		"uninstalled": func(s *scene) { s.hub.Uninstall("octo-org") },
		"deleted":     func(s *scene) { _ = s.hub.DeleteRepo(fleet) },
	} {
		for _, public := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " public ", public), func(t *testing.T) {
				s := newScene(t, nil)
				s.public(public)
				s.repo.Private = !public
				alice, nobody := s.as("alice"), s.browser()
				alice.get("/auth/login")
				alice.sees("before", http.StatusOK)
				gone(s)
				s.clock.add(DefaultAccessTTL - time.Second)
				alice.sees("remembered", http.StatusOK)
				s.clock.add(time.Second)
				alice.sees("gone", http.StatusNotFound)
				nobody.sees("gone, for nobody", http.StatusSeeOther)
			})
		}
	}
}

// Repositories and people are identified by id, not by name.
func TestReadersOfRenamed(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	if got := alice.get("/r/fleet"); got.status != http.StatusOK {
		t.Fatalf("before: %d", got.status)
	}
	again := func() { s.clock.add(DefaultAccessTTL) }
	if err := s.hub.RenameRepo(fleet, "armada"); err != nil {
		t.Fatal(err)
	}
	again()
	alice.sees("a repository with a new name", http.StatusOK)
	// Another, public repository gets the old name.
	if _, err := s.hub.AddRepo(t.Context(), fleet, ""); err != nil {
		t.Fatal(err)
	}
	s.public(true)
	again()
	alice.sees("whose old name another one has", http.StatusOK)
	if err := s.hub.SetPermission("octo-org/armada", "alice", "none"); err != nil {
		t.Fatal(err)
	}
	again()
	alice.sees("which is another one", http.StatusNotFound)
	s.browser().sees("which is another one, for nobody", http.StatusSeeOther)

	if err := s.hub.SetPermission("octo-org/armada", "ally", "read"); err != nil {
		t.Fatal(err)
	}
	s.hub.RenameAccount("alice", "ally")
	again()
	alice.sees("a person with a new login", http.StatusOK)
	s.hub.TakeLogin("alice")
	if err := s.hub.SetPermission("octo-org/armada", "alice", "admin"); err != nil {
		t.Fatal(err)
	}
	if err := s.hub.SetPermission("octo-org/armada", "ally", "none"); err != nil {
		t.Fatal(err)
	}
	again()
	alice.sees("whose old login somebody else has", http.StatusNotFound)
	s.clean()
}

// Many requests, concurrent or in sequence, ask GitHub one question.
func TestManyReadersAreOneQuestion(t *testing.T) {
	s := newScene(t, nil)
	alice := s.as("alice")
	alice.get("/auth/login")
	s.clock.add(DefaultAccessTTL)
	id := alice.cookie("lintel-session")
	many := 1000
	if testing.Short() {
		many = 100
	}
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/r/fleet", nil)
			r.AddCookie(&http.Cookie{Name: "lintel-session", Value: id})
			if d, err := s.access.Level(r, s.repo); d != Private {
				t.Errorf("%d, %v", d, err)
			}
		})
	}
	all.Wait()
	if n := s.asked("/permission"); n != 1 {
		t.Errorf("GitHub was asked %d times for a permission", n)
	}
	if n := s.asked("/repos/octo-org/fleet"); n > 2 {
		t.Errorf("GitHub was asked %d times for the repository", n)
	}
	before := len(s.hub.Requests())
	for range many {
		for _, path := range []string{"/auth/login", "/auth/callback?state=x&code=y", "/auth/callback"} {
			s.pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		}
	}
	if n := len(s.hub.Requests()) - before; n != 0 {
		t.Errorf("GitHub was asked %d times by sign-ins that nobody finished", n)
	}
	s.clean()
}

// poor is a GitHub where little of an installation's rate limit is left.
type poor struct {
	forge.Client
	asked int
}

func (p *poor) Budget(int64) (forge.Budget, bool) {
	return forge.Budget{Limit: 5000, Remaining: 499}, true
}
func (p *poor) Present(context.Context, forge.Repo) (*forge.Repository, error) {
	p.asked++
	return nil, errors.New("asked")
}

// Requests for readers leave the last tenth of the rate limit to the checks.
func TestReadersLeaveLimitsToChecks(t *testing.T) {
	hub := &poor{}
	a, err := NewAccess(AccessConfig{Hub: hub})
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Level(httptest.NewRequest(http.MethodGet, "/", nil), forge.Repository{Repo: forge.Repo{ID: 1, Installation: 2}})
	if d != Hidden || !errors.Is(err, errSpare) || hub.asked != 0 {
		t.Errorf("%d, %v, asked %d times", d, err, hub.asked)
	}
}

// An Access needs a complete configuration.
func TestConfig(t *testing.T) {
	for name, c := range map[string]AccessConfig{
		"no hub":       {},
		"TTL too long": {Hub: &poor{}, TTL: MaxAccessTTL + 1},
		"negative TTL": {Hub: &poor{}, TTL: -1},
		"no store":     {Hub: &poor{}, SignIn: &github.SignIn{}, PublicURL: "https://lintel.example.com"},
		"no address":   {Hub: &poor{}, SignIn: &github.SignIn{}, PublicURL: "lintel.example.com"},
	} {
		if _, err := NewAccess(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

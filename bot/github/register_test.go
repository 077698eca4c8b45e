package github

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/githubtest"
)

func TestRegistrarAddresses(t *testing.T) {
	for _, c := range []struct{ url, organization, form, api string }{
		{"https://github.com", "", "https://github.com/settings/apps/new?state=a%26b", "https://api.github.com/"},
		{"https://github.com/", "octo-org", "https://github.com/organizations/octo-org/settings/apps/new?state=a%26b",
			"https://api.github.com/"},
		{"https://ghes.example.com", "../x", "https://ghes.example.com/organizations/..%2Fx/settings/apps/new?state=a%26b",
			"https://ghes.example.com/api/v3/"},
		{"https://octo.ghe.com", "", "https://octo.ghe.com/settings/apps/new?state=a%26b", "https://api.octo.ghe.com/"},
	} {
		r, err := NewRegistrar(c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.FormURL(c.organization, "a&b"); got != c.form || r.client.api.String() != c.api {
			t.Errorf("%+v: form %s, API %s", c, got, r.client.api)
		}
	}
	if _, err := NewRegistrar("github.com", nil); err == nil {
		t.Error("an address without a scheme is taken")
	}
}

func TestInstallURL(t *testing.T) {
	r, err := NewRegistrar("https://github.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"https://github.com/apps/lintel-octo":        "https://github.com/apps/lintel-octo/installations/new",
		"https://github.com/github-apps/lintel-octo": "https://github.com/github-apps/lintel-octo/installations/new",
		"":                           "https://github.com/apps/lintel/installations/new",
		"https://github.com.evil/":   "https://github.com/apps/lintel/installations/new",
		"javascript:alert(document)": "https://github.com/apps/lintel/installations/new",
	} {
		if got := r.installURL(&gh.AppConfig{HTMLURL: &page, Slug: gh.String("lintel")}); got != want {
			t.Errorf("page %q: %s", page, got)
		}
	}
}

func TestConvertRefusesCodes(t *testing.T) {
	hub, err := githubtest.New(githubtest.Config{KeyBits: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	r, err := NewRegistrar(hub.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"", "../../app", "a/b", "a b", "a?b", strings.Repeat("a", 256), "unknown"} {
		var gone *forge.Gone
		if _, _, err := r.Convert(t.Context(), code); !errors.As(err, &gone) {
			t.Errorf("code %q: %v", code, err)
		}
	}
	if requests := hub.Requests(); len(requests) != 1 || requests[0].Path != "/app-manifests/unknown/conversions" {
		t.Errorf("asked %v", requests)
	}
}

// stuck is a transport that never answers.
type stuck struct{}

func (stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestConvertEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRegistrar("https://github.com", stuck{})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, _, err = r.Convert(context.Background(), "the-code")
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "the-code") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took != callTimeout {
			t.Errorf("took %s", took)
		}
	})
}

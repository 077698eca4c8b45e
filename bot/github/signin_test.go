package github

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
)

func TestNewSignIn(t *testing.T) {
	for name, c := range map[string]SignInConfig{
		"no address":  {URL: "github.com", ClientID: "Iv1.a", ClientSecret: "the secret"},
		"no id":       {ClientSecret: "the secret"},
		"odd id":      {ClientID: "a b", ClientSecret: "the secret"},
		"no secret":   {ClientID: "Iv1.a"},
		"long secret": {ClientID: "Iv1.a", ClientSecret: strings.Repeat("the secret", 1000)},
	} {
		if _, err := NewSignIn(c); err == nil || strings.Contains(err.Error(), "the secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for address, want := range map[string]string{"": "https://github.com/login/oauth/authorize?",
		"https://ghes.example.com/": "https://ghes.example.com/login/oauth/authorize?",
		"https://octo.ghe.com":      "https://octo.ghe.com/login/oauth/authorize?"} {
		s, err := NewSignIn(SignInConfig{URL: address, ClientID: "Iv1.a", ClientSecret: "the secret"})
		if err != nil {
			t.Fatal(err)
		}
		got := s.AuthorizeURL("https://lintel.example.com/auth/callback", "a&b", "c", false)
		u, err := url.Parse(got)
		if err != nil || !strings.HasPrefix(got, want) || u.Query().Get("state") != "a&b" ||
			u.Query().Get("redirect_uri") != "https://lintel.example.com/auth/callback" ||
			u.Query().Get("client_id") != "Iv1.a" || u.Query().Get("code_challenge") != "c" ||
			u.Query().Get("code_challenge_method") != "S256" || u.Query().Has("prompt") || strings.Contains(got, "secret") {
			t.Errorf("%q: %s", address, got)
		}
		if got := s.AuthorizeURL("https://lintel.example.com/auth/callback", "a&b", "c", true); !strings.Contains(got,
			"&prompt=select_account&") {
			t.Errorf("with a choice: %s", got)
		}
		if again := s.Key("a"); s.Key("a") != again || s.Key("b") == again {
			t.Error("keys of purposes")
		}
	}
}

// Exchange sends the documented requests and handles each answer of GitHub. No error contains a secret.
func TestExchange(t *testing.T) {
	const token, code, verifier, secret = "ghu_thetoken", "thecode", "theverifier", "thesecret"
	good := `{"access_token":"` + token + `","token_type":"bearer"}`
	for name, c := range map[string]struct {
		status       int
		answer, user string
		reason       string // of the *SignInRefused
		ok           bool
	}{
		"valid code":           {200, good, `{"id":7,"login":"alice"}`, "", true},
		"used code":            {200, `{"error":"bad_verification_code"}`, "", "bad_verification_code", false},
		"no verified address":  {200, `{"error":"unverified_user_email"}`, "", "unverified_user_email", false},
		"wrong secret":         {200, `{"error":"incorrect_client_credentials"}`, "", "incorrect_client_credentials", false},
		"malformed error code": {200, `{"error":"` + code + `!"}`, "", "unknown", false},
		"unknown client id":    {404, `{"error":"Not Found"}`, "", "unknown_client", false},
		"no token":             {200, `{}`, "", "", false},
		"form":                 {200, `access_token=` + token + `&token_type=bearer`, `{"id":7,"login":"alice"}`, "", true},
		"form, used code":      {200, `error=bad_verification_code&error_description=x`, "", "bad_verification_code", false},
		"form without token":   {200, `access_token%` + token, "", "", false},
		"server error":         {502, good, "", "", false},
		"redirect":             {302, good, "", "", false},
		"answer too long":      {200, `{"access_token":"` + strings.Repeat("x", maxRegistration) + `"}`, "", "", false},
		"user without id":      {200, good, `{"login":"alice"}`, "", false},
		"malformed login":      {200, good, `{"id":7,"login":"../x"}`, "", false},
		"no user":              {200, good, "", "", false},
		"user is not JSON":     {200, good, "{", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /login/oauth/access_token", func(w http.ResponseWriter, r *http.Request) {
				for field, want := range map[string]string{"client_id": "Iv1.a", "client_secret": secret, "code": code,
					"code_verifier": verifier, "redirect_uri": "https://lintel.example.com/auth/callback"} {
					if got := r.PostFormValue(field); got != want {
						t.Errorf("%s is %q", field, got)
					}
				}
				if r.URL.RawQuery != "" {
					t.Errorf("query %q", r.URL.RawQuery)
				}
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				if !strings.HasPrefix(c.answer, "{") {
					w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			})
			mux.HandleFunc("GET /api/v3/user", func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+token {
					t.Errorf("authorized with %q", r.Header.Get("Authorization"))
				}
				if c.user == "" {
					w.WriteHeader(http.StatusUnauthorized)
				}
				_, _ = w.Write([]byte(c.user))
			})
			mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
			hub := httptest.NewServer(mux)
			defer hub.Close()
			s, err := NewSignIn(SignInConfig{URL: hub.URL, ClientID: "Iv1.a", ClientSecret: secret})
			if err != nil {
				t.Fatal(err)
			}
			account, err := s.Exchange(t.Context(), code, verifier, "https://lintel.example.com/auth/callback")
			if (err == nil) != c.ok || c.ok && account != (forge.Account{ID: 7, Login: "alice"}) {
				t.Fatalf("%+v, %v", account, err)
			}
			if c.ok {
				return
			}
			var refused *SignInRefused
			if errors.As(err, &refused) != (c.reason != "") ||
				refused != nil && (refused.Reason != c.reason ||
					refused.Misconfigured() == (c.reason == "bad_verification_code" || c.reason == "unverified_user_email")) {
				t.Errorf("%v, want the reason %q", err, c.reason)
			}
			for _, s := range []string{token, code + "!", verifier, secret} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("%q is in the error: %v", s, err)
				}
			}
		})
	}
}

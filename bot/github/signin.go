package github

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"

	"golang.org/x/oauth2"

	"github.com/lintel-bot/lintel/bot/forge"
)

// CallbackPath is the path, below the public address, to which GitHub returns people after a sign-in. The App registers
// it.
const CallbackPath = "/auth/callback"

// SignInConfig is what NewSignIn needs. ClientID and ClientSecret are the App's.
type SignInConfig struct {
	URL          string // see Config.URL
	ClientID     string
	ClientSecret string
}

// SignIn identifies people through GitHub in the App's name
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app#using-the-web-application-flow-to-generate-a-user-access-token).
// It keeps no user token. It is safe for concurrent use.
type SignIn struct {
	id     string
	secret atomic.Pointer[string]
	http   *http.Client // for the web site
	client *Client      // without an identity
}

var clientIDPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z._-]{1,100}$`) })

// NewSignIn returns a SignIn. It makes no request; its errors never contain the secret.
func NewSignIn(c SignInConfig) (*SignIn, error) {
	client, err := newStranger(c.URL, nil)
	switch {
	case err != nil:
		return nil, err
	case !clientIDPattern().MatchString(c.ClientID):
		return nil, errors.New("the GitHub App's client id is not valid")
	}
	if err := checkSecret(c.ClientSecret); err != nil {
		return nil, err
	}
	s := &SignIn{id: c.ClientID, client: client, http: &http.Client{Timeout: callTimeout,
		// A redirect must not receive the secret.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	s.secret.Store(&c.ClientSecret)
	return s, nil
}

func checkSecret(secret string) error {
	if secret == "" || len(secret) > maxSecret {
		return errors.New("the GitHub App's client secret is empty, or too long")
	}
	return nil
}

// SetSecret replaces the App's client secret, and reports whether it changed. After an error, the present secret
// remains in use. Errors do not contain the secret.
func (s *SignIn) SetSecret(secret string) (changed bool, err error) {
	if err := checkSecret(secret); err != nil {
		return false, err
	}
	return *s.secret.Swap(&secret) != secret, nil
}

// AuthorizeURL returns the address at which a browser signs in. GitHub returns the browser to redirect, with the state
// and a code for Exchange. challenge is the S256 challenge of the verifier (RFC 7636, section 4.2). With choose, the
// person chooses an account; otherwise GitHub uses the present account at once.
func (s *SignIn) AuthorizeURL(redirect, state, challenge string, choose bool) string {
	options := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("code_challenge", challenge),
		oauth2.SetAuthURLParam("code_challenge_method", "S256")}
	if choose {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	return s.oauth(redirect).AuthCodeURL(state, options...)
}

// oauth returns the configuration with the present secret.
func (s *SignIn) oauth(redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: s.id, ClientSecret: *s.secret.Load(), RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{AuthURL: s.client.web + "/login/oauth/authorize", TokenURL: s.client.web + "/login/oauth/access_token",
			AuthStyle: oauth2.AuthStyleInParams}}
}

// Key derives a key for a purpose from the client secret. All servers of the App derive the same key, and it reveals
// nothing about the secret. The key changes with the secret.
func (s *SignIn) Key(purpose string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, []byte(*s.secret.Load()))
	mac.Write([]byte("lintel: " + purpose))
	return [sha256.Size]byte(mac.Sum(nil))
}

// SignInRefused means that GitHub refused to issue a token. Reason is GitHub's error code, such as
// bad_verification_code
// (https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors).
type SignInRefused struct{ Reason string }

func (e *SignInRefused) Error() string {
	return "GitHub refused the code of a sign-in: " + e.Reason
}

// Misconfigured reports whether only the operator can fix the cause; another attempt by the reader would fail, too.
func (e *SignInRefused) Misconfigured() bool {
	return e.Reason != "bad_verification_code" && !e.Unverified()
}

// Unverified reports whether the person has no verified email address at GitHub, which a sign-in requires.
func (e *SignInRefused) Unverified() bool { return e.Reason == "unverified_user_email" }

var reasonPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]{1,64}$`) })

// SignInReason returns an error code of GitHub in a form safe for logs: "unknown" for a text that does not look like a
// code.
func SignInReason(code string) string {
	if !reasonPattern().MatchString(code) {
		return "unknown"
	}
	return code
}

// Exchange returns the account of the person who signed in. The token that GitHub issues for the code is used for this
// request only. A *SignInRefused means that GitHub refused the code; any other error may be temporary. No error
// contains the code, the verifier, the token or the secret.
func (s *SignIn) Exchange(ctx context.Context, code, verifier, redirect string) (forge.Account, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	token, err := s.token(ctx, code, verifier, redirect)
	if err != nil {
		return forge.Account{}, err
	}
	const what = "the account of a person who signs in"
	user, _, err := s.client.client(s.client.wire).WithAuthToken(token).Users.Get(ctx, "")
	if err != nil {
		return forge.Account{}, s.client.classify(what, err)
	}
	if user.GetID() <= 0 || !loginPattern().MatchString(user.GetLogin()) {
		return forge.Account{}, fmt.Errorf("%s: GitHub's answer has no id or no login", what)
	}
	return forge.Account{ID: user.GetID(), Login: user.GetLogin()}, nil
}

// token exchanges a code for a user token.
func (s *SignIn) token(ctx context.Context, code, verifier, redirect string) (string, error) {
	const what = "exchanging the code of a sign-in"
	token, err := s.oauth(redirect).Exchange(context.WithValue(ctx, oauth2.HTTPClient, s.http), code, oauth2.VerifierOption(verifier))
	var answered *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answered) && err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case err == nil:
		return token.AccessToken, nil
	case answered.Response.StatusCode == http.StatusNotFound: // GitHub's answer to an unknown client id
		return "", &SignInRefused{Reason: "unknown_client"}
	case answered.Response.StatusCode != http.StatusOK:
		return "", &refused{what: what, status: answered.Response.StatusCode}
	}
	return "", &SignInRefused{Reason: SignInReason(answered.ErrorCode)}
}

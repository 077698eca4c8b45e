package github

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v4"
	gh "github.com/google/go-github/v62/github"
)

// grants is what the newest token of an installation may do; nil: there was none yet. A token keeps the permissions that
// it was made with, although the account's owner may have accepted others since
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app).
type grants struct{ atomic.Pointer[grant] }

type grant struct {
	permissions *gh.InstallationPermissions // nil: not known
	at          time.Time
}

// lacks reports whether the token is known to be without a permission, and when it was made.
func (g *grants) lacks(granted func(*gh.InstallationPermissions) bool) (bool, time.Time) {
	now := g.Load()
	if now == nil {
		return false, time.Time{}
	}
	return now.permissions != nil && !granted(now.permissions), now.at
}

const (
	// askAgain is the age below which a token has what the installation grants.
	askAgain = time.Second
	// refusedAge is the same for a refusal that may have other reasons, so that those do not cost a token each.
	refusedAge = 10 * time.Second
	// tokenLeft is the remaining life below which a token is replaced.
	tokenLeft = time.Minute
)

// may reports whether a request that needs a permission is worth sending. If the token lacks it, another one is
// asked for first.
func (in *installation) may(ctx context.Context, granted func(*gh.InstallationPermissions) bool) bool {
	lacks, at := in.conn.grants.lacks(granted)
	if !lacks {
		return true
	}
	if in.conn.gate.now().Sub(at) < askAgain {
		return false
	}
	if in.conn.gate.check() != nil {
		return true // the request tells the same
	}
	if t, ok := in.conn.transport(in.conn.transport(nil)).(*installationAuth); ok {
		if _, err := t.get(ctx); err != nil {
			return true // likewise
		}
	}
	lacks, _ = in.conn.grants.lacks(granted)
	return !lacks
}

// forbidden reports whether a refusal could be because of permissions that the token does not have yet.
func (c *conn) forbidden(resp *http.Response) bool {
	if resp.StatusCode != http.StatusForbidden || c.grants == nil {
		return false
	}
	if _, _, waits := WaitOf(resp, c.gate.now()); waits {
		return false
	}
	_, at := c.grants.lacks(func(*gh.InstallationPermissions) bool { return true })
	return c.gate.now().Sub(at) >= refusedAge
}

// installationAuth signs requests with a token of an installation, which it replaces before its end.
type installationAuth struct {
	*Client
	id     int64
	grants *grants

	mu    sync.Mutex
	token *gh.InstallationToken
}

func (t *installationAuth) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.get(req.Context())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "token "+token)
	return t.wire.RoundTrip(req)
}

func (t *installationAuth) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.GetExpiresAt().Sub(t.now()) < tokenLeft {
		token, err := t.newToken(ctx, t.id, nil)
		if err != nil {
			return "", err
		}
		t.token = token
		t.grants.Store(&grant{token.Permissions, t.now()})
	}
	return t.token.GetToken(), nil
}

// newToken asks for a token of an installation. It ends by our clock.
func (a *Client) newToken(ctx context.Context, installation int64,
	options *gh.InstallationTokenOptions) (*gh.InstallationToken, error) {
	token, _, err := a.asApp.Apps.CreateInstallationToken(ctx, installation, options)
	if err != nil {
		return nil, err
	}
	token.ExpiresAt = &gh.Timestamp{Time: token.GetExpiresAt().Add(-a.skew.value())}
	return token, nil
}

// ofToken reports whether an answer is to a request for a token, which another request needed.
func ofToken(resp *http.Response) bool {
	return resp.Request != nil && strings.HasSuffix(resp.Request.URL.Path, "/access_tokens")
}

const (
	// backdate is how far in the past a token claims to be issued, as GitHub recommends against clock drift
	// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app).
	backdate = 60 * time.Second
	// lifetime counts from now; GitHub refuses anything beyond ten minutes by its own clock.
	lifetime = 5 * time.Minute
	// tolerated is the difference of clocks that needs no correction. The Date header has whole seconds and
	// travels a while, so smaller differences say nothing.
	tolerated = 20 * time.Second
)

// skew is how far GitHub's clock is ahead of ours, as seen in its answers.
type skew struct {
	now   func() time.Time
	nanos atomic.Int64
}

// observe learns from the Date header of an answer.
func (s *skew) observe(resp *http.Response) {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return
	}
	d := date.Sub(s.now())
	if d.Abs() < tolerated {
		d = 0
	}
	s.nanos.Store(int64(d))
}

func (s *skew) value() time.Duration { return time.Duration(s.nanos.Load()) }

// appAuth signs requests as the App, by GitHub's clock, with the key as it is then.
type appAuth struct{ *Client }

func (t appAuth) RoundTrip(req *http.Request) (*http.Response, error) {
	now := t.now().Add(t.skew.value()).Truncate(time.Second)
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, &jwt.RegisteredClaims{
		Issuer:    strconv.FormatInt(t.id, 10),
		IssuedAt:  jwt.NewNumericDate(now.Add(-backdate)),
		ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}).SignedString(t.key.Load())
	if err != nil {
		return nil, fmt.Errorf("signing as the App: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return t.wire.RoundTrip(req)
}

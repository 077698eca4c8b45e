package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/golang-jwt/jwt/v4"
)

// grants is what the newest token of an installation may do. A token keeps the permissions that it was made with,
// although the account's owner may have accepted others since
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app).
type grants struct {
	mu          sync.Mutex
	permissions map[string]string // empty: not known
	at          time.Time
}

func (g *grants) set(permissions map[string]string, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.permissions, g.at = permissions, at
}

// lacks reports whether the token is known to be without a permission, "members" or "pull_requests:write", and when it
// was made.
func (g *grants) lacks(permission string) (bool, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, level, _ := strings.Cut(permission, ":")
	has := g.permissions[name]
	return len(g.permissions) > 0 && (has == "" || level == "write" && has == "read"), g.at
}

const (
	// askAgain is the age below which a token has what the installation grants.
	askAgain = time.Second
	// refusedAge is the same for a refusal that may have other reasons, so that those do not cost a token each.
	refusedAge = 10 * time.Second
	maxToken   = 1 << 20 // of the answer with a token
)

// may reports whether a request that needs a permission is worth sending. If the token lacks it, another one is
// asked for first.
func (in *installation) may(ctx context.Context, permission string) bool {
	lacks, at := in.conn.grants.lacks(permission)
	if !lacks {
		return true
	}
	if in.conn.gate.now().Sub(at) < askAgain {
		return false
	}
	if in.conn.gate.check() != nil {
		return true // the request tells the same
	}
	current, err := in.conn.transport(nil)
	if err == nil {
		current, err = in.conn.transport(current)
	}
	if t, ok := current.(*ghinstallation.Transport); ok && err == nil {
		_, err = t.Token(ctx)
	}
	if err != nil {
		return true // likewise
	}
	lacks, _ = in.conn.grants.lacks(permission)
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
	_, at := c.grants.lacks("")
	return c.gate.now().Sub(at) >= refusedAge
}

// tokens sees the answers to requests for an installation's tokens go by: what a token may do, and whether GitHub
// wants to be left in peace.
type tokens struct {
	*Client
	gate   *gate
	grants *grants
}

func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/access_tokens") {
		return t.wire.RoundTrip(req)
	}
	done, err := t.pace.await(req, t.after)
	if err != nil {
		return nil, err
	}
	defer done()
	resp, err := t.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusCreated {
		t.gate.observe(resp, false)
		return resp, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxToken))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(t.take(data)))
	return resp, nil
}

// take notes what a token may do, and returns it with an end by our clock, as the library compares it with that. Of
// what is wrong with it, the library tells.
func (t *tokens) take(data []byte) []byte {
	var token struct {
		Permissions map[string]string `json:"permissions"`
		ExpiresAt   time.Time         `json:"expires_at"`
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &token) != nil || json.Unmarshal(data, &all) != nil {
		t.grants.set(nil, t.gate.now())
		return data
	}
	t.grants.set(token.Permissions, t.gate.now())
	end, err := json.Marshal(token.ExpiresAt.Add(-t.skew.value()))
	if err != nil {
		return data
	}
	all["expires_at"] = end
	if out, err := json.Marshal(all); err == nil {
		return out
	}
	return data
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

// signer writes the App's tokens by GitHub's clock, with the key as it is then.
type signer struct{ *Client }

// Sign keeps the issuer of the given claims and sets the times itself: those of the library allow a clock
// that is off by thirty seconds only.
func (s *signer) Sign(claims jwt.Claims) (string, error) {
	given, ok := claims.(*jwt.RegisteredClaims)
	if !ok {
		return "", fmt.Errorf("unexpected claims %T", claims)
	}
	now := s.now().Add(s.skew.value()).Truncate(time.Second)
	return jwt.NewWithClaims(jwt.SigningMethodRS256, &jwt.RegisteredClaims{
		Issuer:    given.Issuer,
		IssuedAt:  jwt.NewNumericDate(now.Add(-backdate)),
		ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}).SignedString(s.key.Load())
}

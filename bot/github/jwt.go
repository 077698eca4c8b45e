package github

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

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
type signer struct {
	key  *atomic.Pointer[rsa.PrivateKey]
	now  func() time.Time
	skew *skew
}

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

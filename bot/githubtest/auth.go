package githubtest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// The maximum lifetime of an App's JWT, and the lifetime of an installation token
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app).
const (
	maxJWTLife = 10 * time.Minute
	tokenLife  = time.Hour
)

// appPermissions are the permissions of the App before a manifest requests others.
var appPermissions = map[string]string{"checks": "write", "contents": "read", "pull_requests": "read",
	"metadata": "read", "members": "read"}

type installation struct {
	id      int64
	account string
}

type token struct {
	installation *installation
	permissions  map[string]string
	repos        []int64 // empty: all of the installation
	expires      time.Time
}

// may reports whether the token has a permission, such as "checks:write".
func (t *token) may(permission string) bool {
	name, level, _ := strings.Cut(permission, ":")
	has := t.permissions[name]
	return has == "write" || has == level
}

func (t *token) covers(r *repository) bool {
	return strings.EqualFold(r.owner, t.installation.account) && (len(t.repos) == 0 || slices.Contains(t.repos, r.id))
}

// bearer returns the token of the header Authorization, also from git's basic authentication.
func bearer(r *http.Request) (user, tok string) {
	if user, pass, ok := r.BasicAuth(); ok {
		return user, pass
	}
	scheme, tok, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return "", ""
	}
	return "", strings.TrimSpace(tok)
}

// checkJWT returns an error about an App's JSON Web Token; "" if it is valid.
func (s *Server) checkJWT(tok string) string {
	var claims jwt.RegisteredClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	_, err := parser.ParseWithClaims(tok, &claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil })
	switch now := s.now(); {
	case err != nil || claims.ExpiresAt == nil || claims.IssuedAt == nil:
		return "A JSON web token could not be decoded"
	case claims.Issuer != strconv.FormatInt(s.app.ID, 10):
		return "Integration not found"
	case claims.ExpiresAt.Before(now):
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the " +
			"assertion expires"
	case claims.ExpiresAt.After(now.Add(maxJWTLife + time.Second)):
		return "'Expiration time' claim ('exp') is too far in the future"
	case claims.IssuedAt.After(now.Add(time.Second)):
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	}
	return ""
}

const foreignRepo = "There is at least one repository that does not exist or is not accessible to the parent " +
	"installation."

// createToken serves POST /app/installations/{id}/access_tokens.
func (s *Server) createToken(c *call) {
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if len(c.body) > 0 && json.Unmarshal(c.body, &in) != nil {
		c.refuse(http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	inst := s.installationByID(c.r.PathValue("id"))
	if inst == nil {
		notFound(c)
		return
	}
	t := &token{installation: inst, permissions: s.permissions, repos: in.RepositoryIDs, expires: s.now().Add(tokenLife)}
	if len(in.Permissions) > 0 {
		t.permissions = map[string]string{"metadata": "read"}
		for name, level := range in.Permissions {
			if (&token{permissions: s.permissions}).may(name+":"+level) && (level == "read" || level == "write") {
				t.permissions[name] = level
				continue
			}
			c.refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			return
		}
	}
	for _, name := range in.Repositories {
		if r := s.repos[strings.ToLower(inst.account+"/"+name)]; r != nil {
			t.repos = append(t.repos, r.id)
		} else {
			c.refuse(http.StatusUnprocessableEntity, foreignRepo)
			return
		}
	}
	for _, id := range in.RepositoryIDs {
		if r := s.repoByID(id); r == nil || !strings.EqualFold(r.owner, inst.account) {
			c.refuse(http.StatusUnprocessableEntity, foreignRepo)
			return
		}
	}
	secret := make([]byte, 18)
	_, _ = rand.Read(secret)
	name := "ghs_" + hex.EncodeToString(secret)
	s.tokens[name] = t
	c.answer(http.StatusCreated, object{"token": name, "expires_at": t.expires.UTC().Format(time.RFC3339),
		"permissions": t.permissions, "repository_selection": "all"})
}

func (s *Server) installationByID(id string) *installation {
	for _, i := range s.installations {
		if strconv.FormatInt(i.id, 10) == id {
			return i
		}
	}
	return nil
}

func (s *Server) repoByID(id int64) *repository {
	for _, r := range s.repos {
		if r.id == id {
			return r
		}
	}
	return nil
}

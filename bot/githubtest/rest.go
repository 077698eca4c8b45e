package githubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// maxBody is the maximum size of a request body.
const maxBody = 16 << 20

// object is a JSON object.
type object = map[string]any

// call is one request to the API, with its answer.
type call struct {
	r      *http.Request
	body   []byte
	token  *token // nil for a request with a JWT
	repo   *repository
	status int
	out    any
	header http.Header
}

func (c *call) answer(status int, out any) { c.status, c.out = status, out }

func (c *call) refuse(status int, format string, args ...any) {
	c.answer(status, object{"message": fmt.Sprintf(format, args...), "documentation_url": "https://docs.github.com/rest",
		"status": strconv.Itoa(status)})
}

// page returns the requested part of a list, and sets the header Link
// (https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api).
func page[T any](c *call, list []T) []T {
	query := c.r.URL.Query()
	number, size := 1, 30
	if n, err := strconv.Atoi(query.Get("page")); err == nil && n > 0 {
		number = n
	}
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	from, to := min((number-1)*size, len(list)), min(number*size, len(list))
	if to < len(list) {
		query.Set("page", strconv.Itoa(number+1))
		path, _, _ := strings.Cut(c.r.RequestURI, "?") // the path of the URL has lost its prefix
		c.header.Set("Link", fmt.Sprintf(`<http://%s%s?%s>; rel="next"`, c.r.Host, path, query.Encode()))
	}
	return append([]T{}, list[from:to]...) // never null in JSON
}

// route is an operation of the API: who may call it, and what it does.
type route struct {
	jwt        bool   // called with the App's JWT instead of a token
	open       bool   // without authentication
	permission string // required permission of the token, such as "checks:write"
	unlocked   bool   // serve is called without the lock, and takes it itself
	serve      func(*call)
}

// handler serves git, and the API both at /api/v3 and at the top.
func (s *Server) handler() http.Handler {
	routes := map[string]route{
		"GET /app":               {jwt: true, serve: s.getApp},
		"GET /app/installations": {jwt: true, serve: s.listInstallations},
		"POST /app/installations/{id}/access_tokens": {jwt: true, serve: s.createToken},
		"GET /app/hook/deliveries":                   {jwt: true, serve: s.listDeliveries},
		"POST /app/hook/deliveries/{id}/attempts":    {jwt: true, serve: s.redeliver},
		"POST /app-manifests/{code}/conversions":     {open: true, serve: s.convert},
		"GET /installation/repositories":             {permission: "metadata:read", serve: s.listRepos},
		"GET /repos/{owner}/{repo}":                  {permission: "metadata:read", serve: s.getRepo},
		"GET /repositories/{id}":                     {permission: "metadata:read", serve: s.getRepoByID},
		"GET /user":                                  {open: true, serve: s.getUser},
		"GET /user/{id}":                             {permission: "metadata:read", serve: s.getAccount},
		"GET /repos/{owner}/{repo}/pulls":            {permission: "pull_requests:read", serve: s.listPulls},
		"GET /repos/{owner}/{repo}/pulls/{number}":   {permission: "pull_requests:read", serve: s.getPull},
		"GET /repos/{owner}/{repo}/pulls/{number}/reviews": {permission: "pull_requests:read",
			serve: s.listReviews},
		"GET /repos/{owner}/{repo}/pulls/{number}/commits": {permission: "pull_requests:read",
			unlocked: true, serve: s.listCommits},
		"GET /repos/{owner}/{repo}/pulls/{number}/files": {permission: "pull_requests:read",
			unlocked: true, serve: s.listFiles},
		"GET /repos/{owner}/{repo}/pulls/{number}/comments": {permission: "pull_requests:read",
			unlocked: true, serve: s.listComments},
		"POST /repos/{owner}/{repo}/pulls/{number}/reviews": {permission: "pull_requests:write",
			unlocked: true, serve: s.createReview},
		"DELETE /repos/{owner}/{repo}/pulls/comments/{id}":           {permission: "pull_requests:write", serve: s.deleteComment},
		"GET /repos/{owner}/{repo}/git/ref/heads/{branch...}":        {permission: "contents:read", serve: s.getRef},
		"GET /repos/{owner}/{repo}/git/matching-refs/{ref...}":       {permission: "contents:read", serve: s.listRefs},
		"GET /repos/{owner}/{repo}/collaborators/{login}/permission": {permission: "metadata:read", serve: s.getPermission},
		"GET /orgs/{org}/teams/{slug}/memberships/{login}":           {permission: "members:read", serve: s.getMembership},
		"POST /repos/{owner}/{repo}/check-runs": {permission: "checks:write",
			unlocked: true, serve: s.createRun},
		"PATCH /repos/{owner}/{repo}/check-runs/{id}": {permission: "checks:write",
			unlocked: true, serve: s.updateRun},
		"GET /repos/{owner}/{repo}/check-runs/{id}":          {permission: "checks:read", serve: s.getRun},
		"GET /repos/{owner}/{repo}/commits/{sha}/check-runs": {permission: "checks:read", serve: s.listRuns},
	}
	api := http.NewServeMux()
	for pattern, rt := range routes {
		api.Handle(pattern, s.endpoint(rt))
	}
	api.HandleFunc("POST /settings/apps/new", s.registerApp)
	api.HandleFunc("POST /organizations/{org}/settings/apps/new", s.registerApp)
	api.HandleFunc("GET /login", s.serveLogin)
	api.HandleFunc("GET /favicon.ico", http.NotFound) // browsers ask for it
	api.HandleFunc("GET /login/oauth/authorize", s.authorize)
	api.HandleFunc("POST /login/oauth/access_token", s.accessToken)
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.violate("error", r, "no such endpoint, or none that a GitHub App for check runs needs")
		s.write(w, r, &call{r: r, status: http.StatusNotFound, out: object{"message": "Not Found"}, header: http.Header{}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, git := strings.TrimPrefix(r.URL.Path, "/api/v3"), false
		var serve http.Handler = api
		if strings.Contains(path, ".git/") {
			git, serve = true, http.HandlerFunc(s.serveGit)
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = path, ""
		rec := &recorder{ResponseWriter: w}
		w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat)) // instead of the system's clock
		defer func() {
			s.mu.Lock()
			s.requests = append(s.requests, Request{r.Method, path, rec.status})
			s.touch()
			s.mu.Unlock()
		}()
		if f := s.fault(r, path, git); f != nil {
			s.disturbed(f, rec, inner, serve)
			return
		}
		serve.ServeHTTP(rec, inner)
	})
}

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) { r.status = status; r.ResponseWriter.WriteHeader(status) }

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// endpoint authenticates the caller, finds the repository of the path, and runs the operation.
func (s *Server) endpoint(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{r: r, header: http.Header{}}
		defer func() { s.write(w, r, c) }()
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			c.refuse(http.StatusBadRequest, "the body could not be read")
			return
		}
		c.body = body
		if r.UserAgent() == "" {
			s.violate("error", r, "the header User-Agent is missing")
			c.refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a "+
				"User-Agent header")
			return
		}
		if !s.admit(c, rt) || !s.findRepo(c) {
			return
		}
		if !rt.unlocked {
			s.mu.Lock()
			defer s.mu.Unlock()
		}
		rt.serve(c)
	})
}

// admit checks the App's JWT, or an installation token and its permissions.
func (s *Server) admit(c *call, rt route) bool {
	_, tok := bearer(c.r)
	if rt.open {
		return true
	}
	if rt.jwt {
		wrong := s.checkJWT(tok)
		if wrong != "" {
			s.violate("warning", c.r, "%s", wrong)
			c.refuse(http.StatusUnauthorized, "%s", wrong)
		}
		return wrong == ""
	}
	s.mu.Lock()
	t := s.tokens[tok]
	live := t != nil && t.expires.After(s.now())
	s.mu.Unlock()
	switch {
	case !live:
		s.violate("warning", c.r, "bad credentials")
		c.refuse(http.StatusUnauthorized, "Bad credentials")
		return false
	case !t.may(rt.permission):
		s.violate("error", c.r, "the token lacks the permission %s", rt.permission)
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return false
	}
	c.token = t
	s.use(rt.permission)
	return true
}

// findRepo finds the repository of the path, if it names one. It refuses repositories that the token does not cover.
func (s *Server) findRepo(c *call) bool {
	owner, name := c.r.PathValue("owner"), c.r.PathValue("repo")
	if name == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.repo = s.repos[strings.ToLower(owner+"/"+name)]
	if id, moved := s.moved[strings.ToLower(owner+"/"+name)]; moved && c.repo == nil && c.r.Method == http.MethodGet {
		_, rest, _ := strings.Cut(c.r.URL.Path, "/"+name)
		c.header.Set("Location", s.http.URL+"/api/v3/repositories/"+strconv.FormatInt(id, 10)+rest)
		c.refuse(http.StatusMovedPermanently, "Moved Permanently")
		return false
	}
	if c.repo == nil || c.token != nil && !c.token.covers(c.repo) && (c.r.Method != http.MethodGet || !c.repo.public) {
		notFound(c)
		return false
	}
	return true
}

// write sends the answer, or 304 if the client already has it.
func (s *Server) write(w http.ResponseWriter, r *http.Request, c *call) {
	var data []byte
	if c.out != nil {
		var err error
		if data, err = json.Marshal(c.out); err != nil {
			panic(err) // the answer contains only maps and scalars
		}
	}
	maps.Copy(w.Header(), c.header)
	w.Header().Set("X-Github-Request-Id", newGUID())
	w.Header().Set("X-Ratelimit-Limit", "5000")
	w.Header().Set("X-Ratelimit-Remaining", "4999")
	w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(s.now().Unix()+3600, 10))
	if r.Method == http.MethodGet && c.status == http.StatusOK {
		sum := sha256.Sum256(data)
		tag := `"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if data != nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(c.status)
	_, _ = w.Write(data)
}

package githubtest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// tip returns the commit of a branch; "" if it does not exist.
func (s *Server) tip(r *repository, branch string) string {
	if r.dir == "" {
		return ""
	}
	sha, err := s.run(context.Background(), r, "", nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return sha
}

func (s *Server) listInstallations(c *call) {
	names := slices.Sorted(maps.Keys(s.installations))
	out := report.Mapped(names, func(name string) object { return s.installationObject(s.installations[name]) })
	c.answer(http.StatusOK, page(c, out))
}

func (s *Server) listRepos(c *call) {
	out := report.Mapped(report.Kept(s.sortedRepos(c.token.installation), c.token.covers), s.repoObject)
	c.answer(http.StatusOK, object{"total_count": len(out), "repository_selection": "all", "repositories": page(c, out)})
}

func (s *Server) getRepo(c *call) { c.answer(http.StatusOK, s.repoObject(c.repo)) }

func (s *Server) listPulls(c *call) {
	query, out := c.r.URL.Query(), []object{}
	for _, p := range slices.Backward(c.repo.pulls) { // newest first
		state := query.Get("state")
		open := state == "" || state == "open"
		if state != "all" && p.open != open || query.Get("base") != "" && query.Get("base") != p.baseRef ||
			query.Get("head") != "" && query.Get("head") != c.repo.owner+":"+p.headRef {
			continue
		}
		out = append(out, s.pullObject(c.repo, p))
	}
	c.answer(http.StatusOK, page(c, out))
}

// callPull finds the pull request of the path; the caller holds the lock.
func (c *call) pull() *pull {
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	p := c.repo.pull(number)
	if p == nil {
		notFound(c)
	}
	return p
}

func (s *Server) getPull(c *call) {
	if p := c.pull(); p != nil {
		out := s.pullObject(c.repo, p)
		out["mergeable"], out["merged"] = nil, false
		c.answer(http.StatusOK, out)
	}
}

func (s *Server) listReviews(c *call) {
	if p := c.pull(); p != nil {
		c.answer(http.StatusOK, page(c, report.Mapped(p.reviews, reviewObject)))
	}
}

// commitObject returns a commit. The logins of its authors are the names in the commit.
func (s *Server) commitObject(ctx context.Context, r *repository, sha string) (object, error) {
	text, err := s.run(ctx, r, "", nil, "show", "--no-patch", "--format=%an%n%cn%n%T%n%P%n%s", sha+"^{commit}")
	if err != nil {
		return nil, err
	}
	f := strings.SplitN(text, "\n", 5)
	parents := []object{}
	for _, p := range strings.Fields(f[3]) {
		parents = append(parents, object{"sha": p})
	}
	person := func(login string) object { return object{"name": login, "email": login + "@users.noreply.github.com"} }
	return object{"sha": sha, "author": userObject(f[0]), "committer": userObject(f[1]), "parents": parents,
			"commit": object{"author": person(f[0]), "committer": person(f[1]), "message": f[4], "tree": object{"sha": f[2]}}},
		nil
}

func (s *Server) listCommits(c *call) {
	s.mu.Lock()
	p := c.pull()
	s.mu.Unlock()
	if p == nil {
		return
	}
	list, err := s.run(c.r.Context(), c.repo, "", nil, "rev-list", "--reverse", "--max-count=250",
		"refs/heads/"+p.baseRef+".."+p.headSHA)
	if err != nil {
		notFound(c)
		return
	}
	out := []object{}
	for _, sha := range strings.Fields(list) {
		if commit, err := s.commitObject(c.r.Context(), c.repo, sha); err == nil {
			out = append(out, commit)
		}
	}
	c.answer(http.StatusOK, page(c, out))
}

func (s *Server) getRef(c *call) {
	if sha := s.tip(c.repo, c.r.PathValue("branch")); sha != "" {
		c.answer(http.StatusOK, object{"ref": "refs/heads/" + c.r.PathValue("branch"),
			"object": object{"type": "commit", "sha": sha}})
		return
	}
	notFound(c)
}

func (s *Server) listRefs(c *call) {
	out := []object{}
	if c.repo.dir != "" {
		list, err := s.run(c.r.Context(), c.repo, "", nil, "for-each-ref", "--format=%(refname) %(objectname)")
		if err != nil {
			c.answer(http.StatusInternalServerError, object{"message": err.Error()})
			return
		}
		for line := range strings.Lines(list) {
			ref, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(ref, "refs/"+c.r.PathValue("ref")) {
				out = append(out, object{"ref": ref, "object": object{"type": "commit", "sha": sha}})
			}
		}
	}
	c.answer(http.StatusOK, page(c, out))
}

func (s *Server) getPermission(c *call) {
	login := c.r.PathValue("login")
	if s.accountID(login) == 0 {
		c.refuse(http.StatusNotFound, "%s is not a user", login)
		return
	}
	level, ok := c.repo.permissions[strings.ToLower(login)]
	if !ok {
		level = "read"
	}
	c.answer(http.StatusOK, object{"permission": level, "role_name": level, "user": s.user(login)})
}

func (s *Server) getMembership(c *call) {
	team := s.teams[strings.ToLower(c.r.PathValue("org")+"/"+c.r.PathValue("slug"))]
	if team[strings.ToLower(c.r.PathValue("login"))] {
		c.answer(http.StatusOK, object{"state": "active", "role": "member", "url": s.http.URL})
		return
	}
	notFound(c)
}

func deliveryObject(d *delivery) object {
	status := "OK"
	if d.status < 200 || d.status > 299 {
		status = http.StatusText(d.status)
	}
	return object{"id": d.id, "guid": d.guid, "delivered_at": d.at.UTC().Format(time.RFC3339Nano),
		"redelivery": d.redelivery, "duration": 0.01, "status": status, "status_code": d.status,
		"event": d.event, "action": d.action, "installation_id": nil, "repository_id": nil}
}

// listDeliveries lists deliveries, newest first, paged with a cursor. Like GitHub, it omits unanswered ones.
func (s *Server) listDeliveries(c *call) {
	var done []object
	for _, d := range slices.Backward(s.deliveries) {
		if d.status != 0 {
			done = append(done, deliveryObject(d))
		}
	}
	query := c.r.URL.Query()
	from, _ := strconv.Atoi(query.Get("cursor"))
	size := 30
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	from = min(max(from, 0), len(done))
	to := min(from+size, len(done))
	if to < len(done) {
		query.Set("cursor", strconv.Itoa(to))
		c.header.Set("Link", "<"+s.http.URL+"/api/v3/app/hook/deliveries?"+query.Encode()+`>; rel="next"`)
	}
	c.answer(http.StatusOK, append([]object{}, done[from:to]...))
}

func (s *Server) deliveryOf(c *call) *delivery {
	for _, d := range s.deliveries {
		if strconv.FormatInt(d.id, 10) == c.r.PathValue("id") {
			return d
		}
	}
	notFound(c)
	return nil
}

// redeliver sends a webhook again, with a new id and the same GUID.
func (s *Server) redeliver(c *call) {
	if d := s.deliveryOf(c); d != nil {
		s.line(&delivery{id: s.id(), guid: d.guid, event: d.event, action: d.action, payload: d.payload, at: s.now(),
			signature: s.sign(d.payload), redelivery: true})
		c.answer(http.StatusAccepted, object{})
	}
}

package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// These functions return the JSON objects of the API, with only the fields that an App for check runs may read. Names
// and types are GitHub's. The caller holds the lock.

func userObject(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "id": accountID(login), "type": kind}
}

// accountID is a stable number for an account.
func accountID(login string) int64 {
	var n int64 = 7
	for _, c := range strings.ToLower(login) {
		n = n*31 + int64(c)
	}
	return n & 0x7fffffff
}

func (s *Server) repoObject(r *repository) object {
	web := s.http.URL + "/" + r.fullName()
	visibility := "private"
	if r.public {
		visibility = "public"
	}
	return object{"id": r.id, "name": r.name, "full_name": r.fullName(), "private": !r.public,
		"visibility": visibility, "fork": false,
		"archived": false, "default_branch": "main",
		"owner": object{"login": r.owner, "id": accountID(r.owner), "type": "Organization"}, "html_url": web,
		"clone_url": web + ".git", "url": s.http.URL + "/api/v3/repos/" + r.fullName()}
}

func (s *Server) pullObject(r *repository, p *pull) object {
	state := "open"
	if !p.open {
		state = "closed"
	}
	head, headOwner := s.repoObject(r), r.owner
	if p.fromFork {
		head, headOwner = s.repoObject(&repository{id: r.id + 1_000_000, owner: p.author, name: r.name}), p.author
		head["fork"] = true
	}
	return object{"id": p.id, "number": p.number, "state": state, "title": p.title, "draft": false,
		"user": userObject(p.author), "created_at": timestamp(p.created), "updated_at": timestamp(p.created),
		"html_url": fmt.Sprintf("%s/%s/pull/%d", s.http.URL, r.fullName(), p.number),
		"base": object{"ref": p.baseRef, "sha": s.tip(r, p.baseRef), "label": r.owner + ":" + p.baseRef,
			"repo": s.repoObject(r), "user": userObject(r.owner)},
		"head": object{"ref": p.headRef, "sha": p.headSHA, "label": headOwner + ":" + p.headRef, "repo": head,
			"user": userObject(headOwner)}}
}

// brief is how pull requests look inside checks.
func (s *Server) briefPull(r *repository, p *pull) object {
	repo := object{"id": r.id, "name": r.name, "url": s.http.URL + "/api/v3/repos/" + r.fullName()}
	return object{"id": p.id, "number": p.number, "url": fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", s.http.URL,
		r.fullName(), p.number),
		"head": object{"ref": p.headRef, "sha": p.headSHA, "repo": repo},
		"base": object{"ref": p.baseRef, "sha": s.tip(r, p.baseRef), "repo": repo}}
}

// pullsOf lists the open pull requests of a head. Like GitHub, it omits those from forks.
func (s *Server) pullsOf(r *repository, sha string) []object {
	out := []object{}
	for _, p := range r.pulls {
		if p.open && !p.fromFork && p.headSHA == sha {
			out = append(out, s.briefPull(r, p))
		}
	}
	return out
}

func reviewObject(v *review) object {
	return object{"id": v.id, "user": userObject(v.user), "state": v.state, "commit_id": v.commit,
		"submitted_at": timestamp(v.submitted), "body": ""}
}

func (s *Server) installationObject(i *installation) object {
	return object{"id": i.id, "account": object{"login": i.account, "id": accountID(i.account), "type": "Organization"},
		"app_id": 4711, "target_type": "Organization",
		"permissions": s.permissions, "repository_selection": "all", "suspended_at": nil}
}

func (s *Server) appObject() object {
	return object{"id": s.app.ID, "slug": s.app.Slug, "name": s.app.Slug, "owner": userObject("olga"),
		"permissions": s.permissions}
}

func (s *Server) suiteObject(r *repository, sha string) object {
	var branch any
	for _, p := range r.pulls {
		if p.headSHA == sha && !p.fromFork {
			branch = p.headRef
		}
	}
	return object{"id": accountID(sha), "head_sha": sha, "head_branch": branch, "status": "queued", "conclusion": nil,
		"app": s.appObject(), "pull_requests": s.pullsOf(r, sha)}
}

func (s *Server) runObject(r *repository, run *Run) object {
	out := object{"id": run.ID, "head_sha": run.HeadSHA, "name": run.Name, "status": run.Status, "conclusion": nil,
		"external_id": run.ExternalID, "details_url": run.DetailsURL,
		"html_url":   fmt.Sprintf("%s/%s/runs/%d", s.http.URL, r.fullName(), run.ID),
		"url":        fmt.Sprintf("%s/api/v3/repos/%s/check-runs/%d", s.http.URL, r.fullName(), run.ID),
		"started_at": timestamp(run.StartedAt), "completed_at": timestamp(run.CompletedAt), "app": s.appObject(),
		"check_suite": s.suiteObject(r, run.HeadSHA), "pull_requests": s.pullsOf(r, run.HeadSHA),
		"output": object{"title": run.Title, "summary": run.Summary, "text": run.Text,
			"annotations_count": len(run.Annotations)}}
	if run.Conclusion != "" {
		out["conclusion"] = run.Conclusion
	}
	return out
}

// sortedRepos lists the repositories of an installation by id.
func (s *Server) sortedRepos(i *installation) []*repository {
	byID := slices.SortedFunc(maps.Values(s.repos), func(a, b *repository) int { return cmp.Compare(a.id, b.id) })
	return report.Kept(byID, func(r *repository) bool { return strings.EqualFold(r.owner, i.account) })
}

package githubtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Comment is a posted comment on lines of a pull request.
type Comment struct {
	ID        int64
	Review    int64
	User      string
	Commit    string
	Path      string
	StartLine int // the first of several lines; otherwise Line
	Line      int
	Body      string
	ReplyTo   int64
}

// Comments lists the comments on lines of a pull request, oldest first.
func (s *Server) Comments(fullName string, number int) ([]Comment, error) {
	_, p, err := s.pull(fullName, number)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(p.comments), nil
}

// Reply answers a comment on lines of a pull request. It sends no webhook, since the App does not subscribe to that
// event.
func (s *Server) Reply(fullName string, number int, to Comment, login, body string) error {
	_, p, err := s.pull(fullName, number)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to.ID, to.ReplyTo, to.User, to.Body = s.id(), to.ID, login, body
	p.comments = append(p.comments, to)
	return nil
}

// Grant gives the App a permission, or removes it if the level is empty. Existing tokens do not change.
func (s *Server) Grant(permission, level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions = maps.Clone(s.permissions)
	if s.permissions[permission] = level; level == "" {
		delete(s.permissions, permission)
	}
}

// getApp serves GET /app.
func (s *Server) getApp(c *call) { c.answer(http.StatusOK, s.appObject()) }

// patch is the diff of one file in a pull request.
type patch struct{ path, text string }

// patches returns the diffs between the merge base and the head.
func (s *Server) patches(ctx context.Context, r *repository, p *pull) (list []patch) {
	out, _ := s.run(ctx, r, "", nil, "diff", "--no-color", "--no-renames", "refs/heads/"+p.baseRef+"..."+p.headSHA)
	for part := range strings.SplitSeq("\n"+out, "\ndiff --git ") {
		head, text, ok := strings.Cut(part, "\n@@ ")
		_, path, added := strings.Cut(head, "\n+++ b/")
		if ok && added {
			list = append(list, patch{path, "@@ " + text})
		}
	}
	return list
}

var hunkOfHead = regexp.MustCompile(`(?m)^@@ -\S+ \+([0-9]+)(?:,([0-9]+))? @@`)

// shows reports whether one hunk of a patch shows all of these lines of the head.
func (p patch) shows(from, to int) bool {
	for _, m := range hunkOfHead.FindAllStringSubmatch(p.text, -1) {
		start, _ := strconv.Atoi(m[1])
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		if start <= from && from <= to && to < start+count {
			return true
		}
	}
	return false
}

// lockedPull finds the pull request of the path. The caller does not hold the lock.
func (s *Server) lockedPull(c *call) *pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.pull()
}

func (s *Server) listFiles(c *call) {
	if p := s.lockedPull(c); p != nil {
		c.answer(http.StatusOK, page(c, report.Mapped(s.patches(c.r.Context(), c.repo, p), func(f patch) object {
			return object{"filename": f.path, "status": "modified", "patch": f.text}
		})))
	}
}

// createReview accepts reviews of an App: comments on lines that the pull request shows.
func (s *Server) createReview(c *call) {
	var in struct {
		Commit   string `json:"commit_id"`
		Body     string `json:"body"`
		Event    string `json:"event"`
		Comments []struct {
			Path      string `json:"path"`
			Body      string `json:"body"`
			Side      string `json:"side"`
			StartSide string `json:"start_side"`
			Line      int    `json:"line"`
			StartLine int    `json:"start_line"`
		} `json:"comments"`
	}
	p := s.lockedPull(c)
	if p == nil {
		return
	}
	refuse := func(format string, args ...any) {
		s.violate("error", c.r, format, args...)
		c.refuse(http.StatusUnprocessableEntity, format, args...)
	}
	if err := json.Unmarshal(c.body, &in); err != nil || in.Event != "COMMENT" || in.Body == "" || in.Commit != p.headSHA {
		refuse("the review is no comment with a body on the head: %v", err)
		return
	}
	shown := s.patches(c.r.Context(), c.repo, p)
	var comments []Comment
	for _, k := range in.Comments {
		one := Comment{User: s.app.Slug + "[bot]", Commit: in.Commit, Path: k.Path, StartLine: k.StartLine, Line: k.Line,
			Body: k.Body}
		if one.StartLine == 0 {
			one.StartLine = one.Line
		} else if k.StartSide != "RIGHT" || k.StartLine >= k.Line {
			refuse("start_line %d and line %d are no lines in order", k.StartLine, k.Line)
			return
		}
		if k.Side != "RIGHT" || k.Body == "" || !slices.ContainsFunc(shown,
			func(f patch) bool { return f.path == k.Path && f.shows(one.StartLine, one.Line) }) {
			refuse("pull_request_review_thread.line must be part of the diff: %s:%d", k.Path, k.Line)
			return
		}
		comments = append(comments, one)
	}
	s.mu.Lock()
	v := &review{id: s.id(), user: s.app.Slug + "[bot]", state: "COMMENTED", commit: p.headSHA, submitted: s.now()}
	p.reviews = append(p.reviews, v)
	for _, one := range comments {
		one.ID, one.Review = s.id(), v.id
		p.comments = append(p.comments, one)
	}
	s.touch()
	s.mu.Unlock()
	s.sendReview("submitted", c.repo, p, v, v.user)
	c.answer(http.StatusOK, reviewObject(v))
}

// listComments lists comments with their lines in the head. A comment has no lines if they were edited later.
func (s *Server) listComments(c *call) {
	p := s.lockedPull(c)
	if p == nil {
		return
	}
	s.mu.Lock()
	comments := slices.Clone(p.comments)
	s.mu.Unlock()
	out := []object{}
	for _, one := range comments {
		o := object{"id": one.ID, "pull_request_review_id": one.Review, "user": userObject(one.User), "body": one.Body,
			"path": one.Path, "commit_id": p.headSHA, "original_commit_id": one.Commit, "side": "RIGHT", "line": nil,
			"original_line": one.Line}
		if line := s.lineNow(c.r.Context(), c.repo, p, one); line > 0 {
			o["line"] = line
		}
		if one.ReplyTo != 0 {
			o["in_reply_to_id"] = one.ReplyTo
		}
		out = append(out, o)
	}
	c.answer(http.StatusOK, page(c, out))
}

// lineNow returns the line in the head of the last line of a comment: the first place with the same lines, 0 for none.
func (s *Server) lineNow(ctx context.Context, r *repository, p *pull, one Comment) int {
	lines := func(commit string) []string {
		text, err := s.run(ctx, r, "", nil, "cat-file", "blob", commit+":"+one.Path)
		if err != nil {
			return nil
		}
		return strings.Split(text, "\n")
	}
	was, now := lines(one.Commit), lines(p.headSHA)
	if one.Line > len(was) {
		return 0
	}
	block := was[one.StartLine-1 : one.Line]
	if one.Line <= len(now) && slices.Equal(now[one.StartLine-1:one.Line], block) {
		return one.Line
	}
	for i := 0; i+len(block) <= len(now); i++ {
		if slices.Equal(now[i:i+len(block)], block) {
			return i + len(block)
		}
	}
	return 0
}

func (s *Server) deleteComment(c *call) {
	for _, p := range c.repo.pulls {
		for i, one := range p.comments {
			if fmt.Sprint(one.ID) == c.r.PathValue("id") {
				p.comments = slices.Delete(p.comments, i, i+1)
				s.touch()
				c.answer(http.StatusNoContent, nil)
				return
			}
		}
	}
	notFound(c)
}

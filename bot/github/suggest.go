package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// Suggest makes the App's suggestions on a pull request equal to a list. GitHub accepts only suggestions for lines that
// its page of changes shows, and the first forge.MaxSuggestions of these are used. New ones are posted in one review
// that neither approves nor blocks. Existing ones that are in the list stay. Others are deleted, unless somebody
// answered them. Deleting needs the same permission as posting, and an API that every Enterprise Server has, while
// resolving a thread needs GraphQL. left is how many suggestions were above the maximum. The error is a
// *forge.NotGranted if there are suggestions and the App may not post them.
func (a *Client) Suggest(ctx context.Context, repo forge.Repo, number int, headSHA string, list []report.Replacement,
) (left int, err error) {
	what := fmt.Sprintf("suggestions on pull request %d of %s", number, repo)
	if len(list) > 0 {
		if list, err = a.shown(ctx, repo, number, list); err != nil {
			return 0, err
		}
	}
	left = max(len(list)-forge.MaxSuggestions, 0)
	list = list[:len(list)-left]
	if !a.installed(repo.Installation).may(ctx, func(p *gh.InstallationPermissions) bool {
		return !slices.Contains([]string{"", "read"}, p.GetPullRequests())
	}) {
		if len(list) == 0 {
			return 0, nil
		}
		return 0, &forge.NotGranted{Permission: "Pull requests: Read and write"}
	}
	posted, err := a.suggested(ctx, repo, number)
	if err != nil {
		return left, err
	}
	var comments []*gh.DraftReviewComment
	for _, s := range list {
		body := suggestionBody(s)
		at := slices.IndexFunc(posted, func(p suggested) bool {
			return p.path == s.Path && p.line == s.EndLine && p.mark == markOf(body)
		})
		if at >= 0 {
			posted = slices.Delete(posted, at, at+1)
			continue
		}
		c := &gh.DraftReviewComment{Path: &s.Path, Body: &body, Side: gh.String("RIGHT"), Line: &s.EndLine}
		if s.StartLine < s.EndLine {
			c.StartSide, c.StartLine = gh.String("RIGHT"), &s.StartLine
		}
		comments = append(comments, c)
	}
	for _, p := range posted {
		if p.answered {
			continue
		}
		_, err := a.of(repo).PullRequests.DeleteComment(ctx, repo.Owner, repo.Name, p.id)
		if err = a.classify(what, err); err != nil && !notFound(err) {
			return left, err
		}
	}
	if len(comments) == 0 {
		return left, nil
	}
	_, _, err = a.of(repo).PullRequests.CreateReview(ctx, repo.Owner, repo.Name, number, &gh.PullRequestReviewRequest{
		CommitID: &headSHA, Event: gh.String("COMMENT"), Comments: comments,
		Body: gh.String("Suggested changes of " + runName + " for lines of this pull request. Its check has all " +
			"findings.")})
	return left, a.classify(what, err)
}

// hunk matches the header of a hunk in a patch, with the first line and number of lines in the new file.
var hunk = regexp.MustCompile(`(?m)^@@ -[0-9,]+ \+([0-9]+)(?:,([0-9]+))? @@`)

// shown returns the suggestions whose lines are on the page of changes, since GitHub accepts comments only there.
func (a *Client) shown(ctx context.Context, repo forge.Repo, number int, list []report.Replacement,
) ([]report.Replacement, error) {
	type lines struct {
		path     string
		from, to int
	}
	hunks, err := pages(a, fmt.Sprintf("files of pull request %d of %s", number, repo),
		func(o gh.ListOptions) (hunks []lines, _ *gh.Response, _ error) {
			files, resp, err := a.of(repo).PullRequests.ListFiles(ctx, repo.Owner, repo.Name, number, &o)
			for _, f := range files {
				for _, m := range hunk.FindAllStringSubmatch(f.GetPatch(), -1) {
					from, _ := strconv.Atoi(m[1])
					count, _ := strconv.Atoi(cmp.Or(m[2], "1"))
					hunks = append(hunks, lines{f.GetFilename(), from, from + count - 1})
				}
			}
			return hunks, resp, err
		})
	return report.Kept(list, func(s report.Replacement) bool {
		return slices.ContainsFunc(hunks, func(h lines) bool {
			return h.path == s.Path && h.from <= s.StartLine && s.EndLine <= h.to
		})
	}), err
}

// suggested is a posted suggestion of the App.
type suggested struct {
	id       int64
	path     string
	line     int // 0: its lines were edited after it was posted
	mark     string
	answered bool
}

// suggested lists the suggestions of the App on a pull request.
func (a *Client) suggested(ctx context.Context, repo forge.Repo, number int) (list []suggested, _ error) {
	what := fmt.Sprintf("comments on lines of pull request %d of %s", number, repo)
	all, err := pages(a, what, func(o gh.ListOptions) ([]*gh.PullRequestComment, *gh.Response, error) {
		return a.of(repo).PullRequests.ListComments(ctx, repo.Owner, repo.Name, number,
			&gh.PullRequestListCommentsOptions{ListOptions: o})
	})
	if err != nil || !slices.ContainsFunc(all, func(c *gh.PullRequestComment) bool { return markOf(c.GetBody()) != "" }) {
		return nil, err
	}
	login, err := a.login(ctx)
	for _, c := range all {
		mark := markOf(c.GetBody())
		if mark == "" || c.GetUser().GetLogin() != login {
			continue
		}
		list = append(list, suggested{c.GetID(), c.GetPath(), c.GetLine(), mark, slices.ContainsFunc(all,
			func(other *gh.PullRequestComment) bool { return other.GetInReplyTo() == c.GetID() })})
	}
	return list, err
}

// login returns the account as which the App posts.
func (a *Client) login(ctx context.Context) (string, error) {
	app, _, err := a.asApp.Apps.Get(ctx, "")
	if err != nil {
		return "", a.classify("the App", err)
	}
	return app.GetSlug() + "[bot]", nil
}

// mark matches the end of a suggestion's body, which identifies the suggestion.
var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<!-- suggestion ([0-9a-f]{32}) -->\s*$`) })

func markOf(body string) string {
	if m := mark().FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

var backticks = regexp.MustCompile("`+")

// suggestionBody returns a suggestion as the body of a comment: GitHub replaces the commented lines by the lines of the
// block
// (https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/incorporating-feedback-in-your-pull-request).
func suggestionBody(s report.Replacement) string {
	fence := "```"
	for _, run := range backticks.FindAllString(strings.Join(s.Lines, "\n"), -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	var b strings.Builder
	b.WriteString(s.Why + "\n\n" + fence + "suggestion\n")
	for _, line := range s.Lines {
		b.WriteString(line + "\n")
	}
	b.WriteString(fence + "\n")
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %s", s.Path, s.Was, b.String())))
	return b.String() + "\n<!-- suggestion " + hex.EncodeToString(sum[:16]) + " -->"
}

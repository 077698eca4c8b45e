package github

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// Installations returns the accounts that installed the App, suspended ones included.
func (a *Client) Installations(ctx context.Context) ([]forge.Installation, error) {
	return pages(a, "installations", func(o gh.ListOptions) ([]forge.Installation, *gh.Response, error) {
		list, resp, err := a.asApp.Apps.ListInstallations(ctx, &o)
		return report.Mapped(list, func(i *gh.Installation) forge.Installation {
			return forge.Installation{ID: i.GetID(), Account: i.GetAccount().GetLogin(), Suspended: !i.GetSuspendedAt().IsZero()}
		}), resp, err
	})
}

// Repositories returns the repositories of an installation that can be checked. It leaves out archived and disabled
// ones, which accept no check runs.
func (a *Client) Repositories(ctx context.Context, installation int64) ([]forge.Repo, error) {
	return pages(a, "repositories of installation "+strconv.FormatInt(installation, 10),
		func(o gh.ListOptions) (all []forge.Repo, _ *gh.Response, _ error) {
			list, resp, err := a.installed(installation).client.Apps.ListRepos(ctx, &o)
			if err == nil {
				for _, r := range list.Repositories {
					if !r.GetArchived() && !r.GetDisabled() {
						all = append(all, forge.Repo{Installation: installation, ID: r.GetID(), Owner: r.GetOwner().GetLogin(),
							Name: r.GetName()})
					}
				}
			}
			return all, resp, err
		})
}

// deliveryPages limits the search for failed deliveries: 2,000 deliveries.
const deliveryPages = 20

// FailedDeliveries returns the webhook deliveries since a time without a successful attempt, the latest attempt of
// each, oldest first. On a busy App it sees the latest 2,000 attempts only; the sweep of open pull requests covers the
// others.
func (a *Client) FailedDeliveries(ctx context.Context, since time.Time) ([]forge.Delivery, error) {
	var failed []forge.Delivery
	delivered := map[string]bool{} // by GUID, of all that were seen
	options := gh.ListCursorOptions{PerPage: pageSize}
pages:
	for range deliveryPages {
		list, resp, err := a.asApp.Apps.ListHookDeliveries(ctx, &options)
		if err != nil {
			return nil, a.classify("webhook deliveries", err)
		}
		for _, d := range list { // newest first
			if d.GetDeliveredAt().Before(since.Add(a.skew.value())) { // by GitHub's clock, of which this very answer tells
				break pages
			}
			code, guid := d.GetStatusCode(), d.GetGUID()
			done := code >= 200 && code < 400
			if _, later := delivered[guid]; !done && !later {
				failed = append(failed, forge.Delivery{ID: d.GetID(), GUID: guid, Event: d.GetEvent(), StatusCode: code,
					At: d.GetDeliveredAt().Time})
			}
			delivered[guid] = delivered[guid] || done
		}
		if resp.Cursor == "" {
			break
		}
		options.Cursor = resp.Cursor
	}
	failed = slices.DeleteFunc(failed, func(d forge.Delivery) bool { return delivered[d.GUID] })
	slices.Reverse(failed)
	return failed, nil
}

// Redeliver asks GitHub for another attempt, which has the same GUID.
func (a *Client) Redeliver(ctx context.Context, id int64) error {
	_, _, err := a.asApp.Apps.RedeliverHookDelivery(ctx, id)
	if forge.Is[*gh.AcceptedError](err) { // as go-github has GitHub's 202
		return nil
	}
	what := "delivery " + strconv.FormatInt(id, 10)
	if err = a.classify(what, err); unprocessable(err) {
		return &forge.Gone{What: what, Err: err} // too old: another try does not help, and others wait
	}
	return err
}

const (
	// gitTokenAge is how long a token is reused for git processes.
	gitTokenAge = 10 * time.Minute
	// gitTokenLeft is the minimum remaining life of a reused token: more than a fetch takes.
	gitTokenLeft = 30 * time.Minute
	// maxGitTokens limits the cached tokens of an installation.
	maxGitTokens = 10_000
)

// GitToken returns an installation token that can only read the contents of this repository, valid for at least half an
// hour. Git processes of this repository share it for some minutes, since one for each process would be the larger part
// of the App's requests to GitHub.
func (a *Client) GitToken(ctx context.Context, repo forge.Repo) (string, error) {
	what := "contents of " + repo.String()
	in := a.installed(repo.Installation)
	if err := in.conn.gate.check(); err != nil {
		return "", err
	}
	if token, ok := in.git.Get(repo.ID); ok {
		return token, nil
	}
	token, err := a.newToken(ctx, repo.Installation, &gh.InstallationTokenOptions{RepositoryIDs: []int64{repo.ID},
		Permissions: &gh.InstallationPermissions{Contents: gh.String("read")}})
	if err != nil {
		return "", a.classify(what, err)
	}
	if left := token.GetExpiresAt().Sub(a.now()) - gitTokenLeft; left > 0 {
		in.git.Put(repo.ID, token.GetToken(), store.Span{From: a.now(), Life: min(gitTokenAge, left)})
	}
	return token.GetToken(), nil
}

// CloneURL is the address of the repository for git, without credentials.
func (a *Client) CloneURL(repo forge.Repo) string {
	return a.web + "/" + url.PathEscape(repo.Owner) + "/" + url.PathEscape(repo.Name) + ".git"
}

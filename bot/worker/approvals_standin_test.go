package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/report"
)

type obj = map[string]any

// TestApprovalsAtTheStandIn drives the client, a mirror and a check against a stand-in of GitHub that is running at
// LINTEL_TEST_GITHUB_URL and checks every request against GitHub's API description.
func TestApprovalsAtTheStandIn(t *testing.T) {
	base := os.Getenv("LINTEL_TEST_GITHUB_URL")
	if base == "" {
		t.Skip("to run it, start the stand-in of GitHub and set LINTEL_TEST_GITHUB_URL to its address")
	}
	control := func(method, path string, in, out any) {
		t.Helper()
		var body io.Reader
		if in != nil {
			data, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(data)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/_control"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, data, err)
		}
		if out != nil {
			if err := json.Unmarshal(data, out); err != nil {
				t.Fatalf("%s: %v in %s", path, err, data)
			}
		}
	}
	control("POST", "/reset", nil, nil)
	control("PUT", "/orgs/octo-org", obj{"members": []string{"alice", "bob", "carol"}, "owners": []string{"olga"}}, nil)
	var app struct {
		ID  int64
		Pem string
	}
	control("POST", "/apps", obj{"name": "Lintel", "owner": "octo-org", "hook_url": "http://127.0.0.1:9/webhook",
		"webhook_secret": "s",
		"permissions": obj{"checks": "write", "contents": "read", "pull_requests": "read", "members": "read",
			"metadata": "read"}, "events": []string{"pull_request"}}, &app)
	control("POST", "/repos", obj{"full_name": "octo-org/svc",
		"files": obj{"a.yaml": strings.Repeat("line\n", 200), ".github/CODEOWNERS": "/exceptions/ @octo-org/security\n"}},
		nil)
	control("PUT", "/orgs/octo-org/teams/security", obj{"members": []string{"bob"}, "repos": obj{"octo-org/svc": "push"}},
		nil)
	var installed struct{ ID int64 }
	control("POST", "/installations?wait=1", obj{"account": "octo-org", "repositories": []string{"octo-org/svc"}},
		&installed)
	var commit struct{ Sha string }
	control("POST", "/repos/octo-org/svc/commits", obj{"branch": "feat", "user": "alice", "message": "m",
		"files": obj{"exceptions/e.yaml": "kind: PolicyException\n"}}, &commit)
	var pull struct{ Number int }
	control("POST", "/repos/octo-org/svc/pulls?wait=1", obj{"head": "feat", "title": "T", "user": "alice"}, &pull)

	ctx := t.Context()
	client, err := github.NewClient(github.Config{URL: base, AppID: app.ID, PrivateKey: []byte(app.Pem)})
	if err != nil {
		t.Fatal(err)
	}
	installations, err := client.Installations(ctx)
	if err != nil || len(installations) != 1 || installations[0].ID != installed.ID {
		t.Fatalf("%+v, %v", installations, err)
	}
	repos, err := client.Repositories(ctx, installed.ID)
	if err != nil || len(repos) != 1 {
		t.Fatalf("%+v, %v", repos, err)
	}
	repo := repos[0]
	pr, err := client.PullRequest(ctx, repo, pull.Number)
	if err != nil || pr.HeadSHA != commit.Sha || pr.Fork || pr.Author != "alice" {
		t.Fatalf("%+v, %v", pr, err)
	}
	if numbers, err := client.PullRequestsOfCommit(ctx, repo, pr.HeadSHA); err != nil ||
		!slices.Equal(numbers, []int{pull.Number}) {
		t.Errorf("%v, %v", numbers, err)
	}
	if open, err := client.OpenPullRequests(ctx, repo, ""); err != nil || len(open) != 1 || open[0].HeadSHA != pr.HeadSHA {
		t.Errorf("%+v, %v", open, err)
	}

	mirrors, err := mirror.New(mirror.Config{Dir: filepath.Join(t.TempDir(), "mirrors"), Client: client})
	if err != nil {
		t.Fatal(err)
	}
	state, err := mirrors.Fetch(ctx, repo, mirror.Want{Number: pr.Number, BaseRef: pr.BaseRef, BaseSHA: pr.BaseSHA,
		HeadSHA: pr.HeadSHA})
	if err != nil || state.MergeBase != pr.BaseSHA {
		t.Fatalf("%+v, %v", state, err)
	}

	t.Run("approval", func(t *testing.T) {
		_, blob, err := mirrors.Blob(ctx, state.GitDir, pr.HeadSHA, "exceptions/e.yaml")
		if err != nil {
			t.Fatal(err)
		}
		in := &report.Inspection{Exceptions: []report.Exception{{Path: "exceptions/e.yaml", Blob: blob, State: "pending"}},
			Approvers: report.Approvers{CodeOwners: true, Count: 1}}
		c, _ := decider(client, mirrors, nil, pushLog{pr.Number: {}}, "")
		c.repo, c.head = repo, pr.HeadSHA
		for _, who := range []string{"carol", "bob"} {
			control("POST", fmt.Sprintf("/repos/octo-org/svc/pulls/%d/reviews", pr.Number),
				obj{"user": who, "state": "APPROVE"}, nil)
			reviews, err := c.decide(ctx, state, pr, in)
			got := approved(reviews)
			if err != nil || (len(got) == 1) != (who == "bob") {
				t.Errorf("%s: %+v, %v", who, got, err)
			}
		}
	})
	t.Run("check run", func(t *testing.T) {
		run := &forge.CheckRun{HeadSHA: pr.HeadSHA, Status: "in_progress", ExternalID: "pr-1/", StartedAt: time.Now()}
		if err := client.Publish(ctx, repo, run); err != nil {
			t.Fatal(err)
		}
		final := &forge.CheckRun{ID: run.ID, HeadSHA: pr.HeadSHA, Status: "completed", Conclusion: "failure",
			ExternalID: "pr-1/abc", Title: "2 new violations",
			Summary: strings.Repeat("ü line\n", 20000), Text: "text",
			Actions: []forge.Action{{Label: "Re-run", Description: "Check once more", Identifier: "rerun"}}}
		for i := range 130 {
			final.Annotations = append(final.Annotations, report.Annotation{Path: "a.yaml", StartLine: i + 1, EndLine: i + 1,
				StartColumn: 1, EndColumn: 4, Level: "failure", Title: "t", Message: fmt.Sprint("finding ", i)})
		}
		// The second write is carried out and its answer lost; the job is done again by another process.
		control("POST", "/faults", obj{"do": "status", "status": 502, "commit": true, "match": obj{"op": "checks/update"},
			"skip": 1, "times": 1}, nil)
		if err := client.Publish(ctx, repo, final); err == nil {
			t.Fatal("the fault had no effect")
		}
		again, err := github.NewClient(github.Config{URL: base, AppID: app.ID, PrivateKey: []byte(app.Pem)})
		if err != nil {
			t.Fatal(err)
		}
		final.ID = 0
		if err := again.Publish(ctx, repo, final); err != nil {
			t.Fatal(err)
		}
		if err := again.Publish(ctx, repo, final); err != nil {
			t.Fatal(err)
		}
		var runs []struct {
			ID          int64
			Status      string
			Conclusion  string
			Annotations []struct{ Message string }
		}
		control("GET", "/check-runs?repo=octo-org/svc", nil, &runs)
		if len(runs) != 1 || runs[0].ID != run.ID || runs[0].Conclusion != "failure" || len(runs[0].Annotations) != 130 {
			t.Fatalf("%d runs, %+v", len(runs), runs)
		}
		for i, a := range runs[0].Annotations {
			if a.Message != fmt.Sprint("finding ", i) {
				t.Fatalf("annotation %d is %q", i, a.Message)
			}
		}
		if list, err := client.CheckRuns(ctx, repo, pr.HeadSHA); err != nil || len(list) != 1 ||
			list[0].ExternalID != "pr-1/abc" {
			t.Errorf("%+v, %v", list, err)
		}
	})
	t.Run("trouble", func(t *testing.T) {
		control("POST", "/tokens/expire", nil, nil)
		if _, err := client.Reviews(ctx, repo, pr.Number); err != nil {
			t.Errorf("an expired token: %v", err)
		}
		control("PATCH", "/settings", obj{"clock_skew_seconds": -120}, nil)
		if _, err := client.Installations(ctx); err != nil {
			t.Errorf("clock skew: %v", err)
		}
		control("PATCH", "/settings", obj{"clock_skew_seconds": 0}, nil)
		failed, err := client.FailedDeliveries(ctx, time.Now().Add(-time.Hour))
		if err != nil || len(failed) == 0 {
			t.Fatalf("%v, %v", failed, err)
		}
		if err := client.Redeliver(ctx, failed[0].ID); err != nil {
			t.Errorf("redelivery: %v", err)
		}
		control("PATCH", "/repos/octo-org/svc", obj{"name": "renamed"}, nil)
		if err := client.Publish(ctx, repo, &forge.CheckRun{HeadSHA: pr.HeadSHA, Status: "queued",
			ExternalID: "x/"}); err != nil {
			t.Errorf("writing under the old name: %v", err)
		}
		if err := os.RemoveAll(mirrors.GitDir(repo)); err != nil {
			t.Fatal(err)
		}
		if _, err := mirrors.Fetch(ctx, repo, mirror.Want{Number: pr.Number, BaseRef: pr.BaseRef, BaseSHA: pr.BaseSHA,
			HeadSHA: pr.HeadSHA}); err != nil {
			t.Errorf("fetching under the old name: %v", err)
		}
		control("POST", "/faults", obj{"do": "secondary", "retry_after": 30}, nil)
		for range 3 {
			_, err := client.Reviews(ctx, repo, pr.Number)
			if later := (*forge.RetryLater)(nil); !errors.As(err, &later) || later.After < 29*time.Second {
				t.Errorf("secondary limit: %v", err)
			}
		}
		control("DELETE", "/faults", nil, nil)
	})
	var violations []struct{ Severity, Kind, Message string }
	control("GET", "/violations?side=app", nil, &violations)
	for _, v := range violations {
		// Trouble that was made on purpose, and a webhook address where nobody listens.
		if v.Severity == "warning" && (v.Kind == "webhook.delivery" || v.Kind == "auth" || v.Kind == "rate.secondary") {
			continue
		}
		t.Errorf("%s %s: %s", v.Severity, v.Kind, v.Message)
	}
}
